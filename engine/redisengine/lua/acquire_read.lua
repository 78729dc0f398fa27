-- Makes one attempt to read: beside others who do, past no writer who came before.
--
-- KEYS  1  the lock        2  the readers in line    3  the writers in line
--       4  until when their places are kept
-- ARGV  those of attempt.lua
--       8  how many may read at a time
--       9  that of readwrite.lua

local lines, places = {KEYS[2], KEYS[3]}, KEYS[4]
local most = tonumber(ARGV[8])

-- crowded tells whether as many read as may. If so it first puts out those whose
-- lease is over.
local function crowded()
  if redis.call('HLEN', lock) <= most then
    return false
  end
  local names = {}
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    if field ~= 'mode' and string.sub(field, 1, 6) ~= 'fence:' and string.sub(field, -6) ~= ':write' then
      names[#names + 1] = field
    end
  end
  if #names < most then
    return false
  end
  local dead = {}
  for from = 1, #names, 100 do
    local keys = {}
    for i = from, math.min(from + 99, #names) do
      keys[#keys + 1] = timeout(names[i], 1)
    end
    if redis.call('EXISTS', unpack(keys)) < #keys and #dead < 200 then
      for i = from, from + #keys - 1 do
        if left_of(names[i], redis.call('HGET', lock, names[i])) == -2 then
          dead[#dead + 1] = names[i]
          dead[#dead + 1] = 'fence:' .. names[i]
        end
      end
    end
  end
  if #dead > 0 then
    redis.call('HDEL', lock, unpack(dead))
  end
  return #names - #dead / 2 >= most
end

local left = redis.call('PTTL', lock)
local mode, reads, mark, writes, writing, some
if left ~= -2 then
  mode, reads, mark, writes, writing = unpack(redis.call('HMGET', lock,
    'mode', holder, 'fence:' .. holder, holder .. ':write', 'fence:' .. holder .. ':write'))
  some = (mode == 'read' or mode == 'write') and readers_in((sample(lock)))
  if not some then
    return {4, now}
  end
  if reads and left_of(holder, reads) == -2 then
    reads, mark = false, false -- its lease is over; what is left of it is written over
  end
end

-- Who reads or writes already does not stand in line.
if not reads and not (mode == 'write' and writes) then
  local before, writer
  local line = redis.call('EXISTS', lines[1], lines[2], places) > 0
  if line then
    local reader = look(lines[1], places)
    writer = look(lines[2], places)
    clear(reader, places)
    clear(writer, places)
    local mine = since(lines[1], places, holder)
    before = writer.unsure or writer.first and not (mine and mine < writer.since)
  end
  if mode == 'write' or before then
    if place > 0 then
      line_up(lines, places, holder, place)
    end
    local ahead = ahead_of(lines, places, holder)
    if mode == 'read' and writer.unsure then
      left = 1 -- there are more to be cleared away: come back soon
    end
    if mode then
      return {0, left, plain(some[1]), ahead, now}
    end
    return {0, writer.first and writer.kept - ms or 1, plain(writer.first), ahead, now}
  end
  if mode and crowded() then
    return {6, now}
  end
  if line then
    leave(lines[1], places, holder)
  end
end

local fence = fence_of(mark) or (mode == 'write' and fence_of(writing)) or next_fence()
local count = 1
if not reads then
  redis.call('HSET', lock, 'mode', mode or 'read', holder, 1,
    'fence:' .. holder, '#' .. string.format('%.0f', fence) .. ' ' .. attempt)
elseif through(mark, attempt) then
  count = tonumber(reads)
else
  count = redis.call('HINCRBY', lock, holder, 1)
  redis.call('HSET', lock, 'fence:' .. holder, (mark or '#' .. string.format('%.0f', fence)) .. ' ' .. attempt)
end
if redis.call('PTTL', timeout(holder, 1)) < tonumber(lease) then
  redis.call('SET', timeout(holder, 1), '1', 'PX', lease)
end
if left == -2 or left >= 0 and left < tonumber(lease) then
  redis.call('PEXPIRE', lock, lease)
end
return granted(fence, count)
