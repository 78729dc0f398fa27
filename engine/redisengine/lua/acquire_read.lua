-- Makes one attempt to read: beside others who do, past no writer who came before.
--
-- KEYS  1  the lock        2  the readers in line    3  the writers in line
--       4  until when their places are kept          5  for how long they are
-- ARGV  those of attempt.lua
--       8  how many may read at a time
--       9  that of readwrite.lua

local readers = {key = KEYS[2], places = KEYS[4], lengths = KEYS[5]}
local writers = {key = KEYS[3], places = KEYS[4], lengths = KEYS[5]}
local most = tonumber(ARGV[8])

-- crowded tells whether as many read as may. If so it first puts out those whose
-- lease is over.
local function crowded()
  if redis.call('HLEN', lock) <= most then
    return false
  end
  local names = {}
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    if field ~= 'mode' and string.sub(field, 1, 6) ~= 'fence:' and plain(field) == field then
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
local mode, reads, mark, writes, writing, members, over
if left ~= -2 then
  mode, reads, mark, writes, writing = unpack(redis.call('HMGET', lock,
    'mode', holder, 'fence:' .. holder, holder .. ':write', 'fence:' .. holder .. ':write'))
  members = (mode == 'read' or mode == 'write') and members_of(lock, (sample(lock)))
  if not members or left == -1 then
    return {4, now}
  end
  over = mode == 'write' and ran_out(lock, members)
  if over then
    mode, writes = 'read', false
  end
  if reads and left_of(holder, reads) == -2 then
    reads, mark = false, false -- its lease is over; what is left of it is written over
  end
end

local reader, writer, mine
if redis.call('EXISTS', readers.key, writers.key, readers.places, readers.lengths) > 0 then
  reader, writer = look(readers, holder), look(writers)
  mine = since(readers, holder)
end
if over then
  stop_writing(lock, over)
end

-- Who reads or writes already does not stand in line.
if not reads and not (mode == 'write' and writes) then
  local before
  if writer then
    tidy(readers, reader)
    tidy(writers, writer)
    local came = writer.first and tonumber(redis.call('ZSCORE', writers.key, writer.first))
    before = writer.unsure or came and not (mine and mine < came)
  end
  if mode == 'write' or before then
    if place > 0 then
      line_up({readers, writers}, holder, place)
    end
    local ahead = ahead_of({readers, writers}, holder)
    if mode == 'read' and writer.unsure then
      left = 1 -- there are more to be taken away: come back soon
    end
    if mode then
      return {0, left, plain(members[1]), ahead, now}
    end
    return {0, writer.first and writer.kept - ms or 1, plain(writer.first), ahead, now}
  end
  if mode and crowded() then
    return {6, now}
  end
  -- Writers whose places ran out are passed by who came later.
  local passed = {}
  for _, name in ipairs(writer and writer.passed or {}) do
    if not mine or tonumber(redis.call('ZSCORE', writers.key, name) or 0) < mine then
      passed[#passed + 1] = name
    end
  end
  drop(writers, passed)
end
if reader then
  drop(readers, {holder})
end

local fence = fence_of(mark) or (mode == 'write' and fence_of(writing)) or next_fence()
local count = 1
if not reads then
  redis.call('HSET', lock, 'mode', mode or 'read', holder, 1, 'fence:' .. holder, with(nil, fence, attempt))
  if mode == 'write' then
    lasts(holder .. ':write', left >= 0 and math.max(left, 1) or lease)
  end
elseif through(mark, attempt) then
  count = tonumber(reads)
else
  count = redis.call('HINCRBY', lock, holder, 1)
  redis.call('HSET', lock, 'fence:' .. holder, with(mark, fence, attempt))
end
lasts(holder, lease)
if left == -2 or left >= 0 and left < tonumber(lease) then
  redis.call('PEXPIRE', lock, lease)
end
return granted(fence, count)
