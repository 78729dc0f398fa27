-- Ends what an attempt reads, or gives up its holder's place in line.
--
-- KEYS  1  the lock        2  its channel
--       3  the readers in line    4  the writers in line
--       5  until when their places are kept    6  for how long they are
-- ARGV  those of parting.lua
--       5  that of telling.lua    6  that of readwrite.lua

local readers = {key = KEYS[3], places = KEYS[5], lengths = KEYS[6]}
local writers = {key = KEYS[4], places = KEYS[5], lengths = KEYS[6]}
local mark_of, writer = 'fence:' .. holder, holder .. ':write'

local mode, reads, mark, writing = unpack(redis.call('HMGET', lock, 'mode', holder, mark_of, 'fence:' .. writer))
local held = reads and left_of(holder, reads) ~= -2 and through(mark, attempt)

if held and tonumber(reads) > 1 then
  redis.call('HDEL', lock, mark_of)
  redis.call('HSET', lock, mark_of, without(mark, attempt))
  return buried({redis.call('HINCRBY', lock, holder, -1), 0})
end

-- beside returns what is left of the longest lease of those who are in the lock
-- beside what this holder reads, -2 if there are none; and the fields of those
-- whose lease is over. With many it is content with one of them, and returns no
-- time.
local function beside()
  local many = redis.call('HLEN', lock) > 64
  local members = members_of(lock, many and sample(lock) or redis.call('HGETALL', lock))
  local left, dead = -2, {}
  if not members then
    return nil, dead -- somebody has put something else in: it is not ours to judge
  end
  for i = 1, #members, 2 do
    if members[i] ~= holder then
      local its = left_of(members[i], members[i + 1])
      left = math.max(left, its)
      if its == -2 then
        dead[#dead + 1] = members[i]
        dead[#dead + 1] = 'fence:' .. members[i]
      elseif many then
        break
      end
    end
  end
  return not many and left, dead
end

if held then
  local left, dead = beside()
  if left == -2 then
    -- Publishes first: a server that forbids it must not leave half a release behind.
    local told = tell(told_on(channel, writers, readers), '0')
    redis.call('DEL', lock, timeout(holder, 1))
    return buried(1 + told)
  end
  redis.call('HDEL', lock, holder, mark_of, unpack(dead))
  redis.call('DEL', timeout(holder, 1))
  if mode == 'write' and writing then
    redis.call('DEL', timeout(writer, 1)) -- from now on its lease is that of the hash again
  end
  if left and left >= 0 then
    redis.call('PEXPIRE', lock, math.max(left, 1))
  end
  return buried({0, 0})
end

local free = redis.call('EXISTS', lock) == 0
if exists(readers) then
  look(readers) -- its keys may be other kinds of things
  if free and redis.call('ZSCORE', readers.key, holder) then
    redis.call(publish, channel, '0')
  end
  drop(readers, {holder})
end
return buried(free and 0 or -1)
