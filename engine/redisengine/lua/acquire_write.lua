-- Makes one attempt to write: beside nobody, and past nobody who came before.
--
-- KEYS  1  the lock        2  the writers in line    3  the readers in line
--       4  until when their places are kept          5  for how long they are
-- ARGV  those of attempt.lua
--       8  that of readwrite.lua

local writers = {key = KEYS[2], places = KEYS[4], lengths = KEYS[5]}
local readers = {key = KEYS[3], places = KEYS[4], lengths = KEYS[5]}
local name = holder .. ':write'

local left = redis.call('PTTL', lock)
local mode, reads, writes, mark, over
local other     -- who holds the lock
local dead = {} -- fields of readers whose lease is over
if left ~= -2 then
  mode, reads, writes, mark = unpack(redis.call('HMGET', lock, 'mode', holder, name, 'fence:' .. name))
  local fields, all = sample(lock)
  local members = (mode == 'read' or mode == 'write') and members_of(lock, fields)
  if not members or left == -1 then
    return {4, now}
  end
  over = mode == 'write' and ran_out(lock, members)
  if over then
    mode, writes = 'read', false
  end
  if mode == 'read' and reads and left_of(holder, reads) ~= -2 then
    return {5, now}
  end
  other = mode == 'write' and members[1]
  for i = 1, mode == 'read' and #members or 0, 2 do
    if left_of(members[i], members[i + 1]) ~= -2 then
      other = members[i]
      break
    end
    dead[#dead + 1] = members[i]
    dead[#dead + 1] = 'fence:' .. members[i]
  end
  if not other then
    -- If those are not all, there may be more of them: come back soon.
    left, other = all and -2 or 1, members[1]
  elseif mode == 'read' then
    dead = {}
  end
end

local writer, reader
if redis.call('EXISTS', writers.key, readers.key, writers.places, writers.lengths) > 0 then
  writer, reader = look(writers, name), look(readers)
end

if mode == 'write' and writes then
  if writer then
    drop(writers, {name})
  end
  local count, fence = tonumber(writes), fence_of(mark)
  if not through(mark, attempt) then
    fence = fence or next_fence()
    count = redis.call('HINCRBY', lock, name, 1)
    redis.call('HSET', lock, 'fence:' .. name, with(mark, fence, attempt))
  end
  if reads then
    lasts(name, lease)
  end
  if left >= 0 and left < tonumber(lease) then
    redis.call('PEXPIRE', lock, lease)
  end
  return {1, fence, count, now}
end

if left == -2 and mode then
  redis.call('DEL', lock) -- nobody is left whose lease is not over
elseif over then
  stop_writing(lock, over)
elseif #dead > 0 then
  redis.call('HDEL', lock, unpack(dead))
end

-- Who of those in line comes first.
local first, kept, unsure
if writer then
  tidy(writers, writer)
  tidy(readers, reader)
  local one = writer
  local came = reader.first and tonumber(redis.call('ZSCORE', readers.key, reader.first))
  if came and not (writer.first and tonumber(redis.call('ZSCORE', writers.key, writer.first)) < came) then
    one = reader
  end
  first, kept, unsure = one.first, one.kept, writer.unsure or reader.unsure
end

if left == -2 and (first == name or not first) and not unsure then
  if writer then
    drop(writers, writer.passed)
    drop(readers, reader.passed)
    drop(writers, {name})
  end
  local fence = next_fence()
  redis.call('HSET', lock, 'mode', 'write', name, 1, 'fence:' .. name, with(nil, fence, attempt))
  redis.call('PEXPIRE', lock, lease)
  return granted(fence, 1)
end

if place > 0 then
  line_up({writers, readers}, name, place)
end
local ahead = ahead_of({writers, readers}, name)
if left ~= -2 then
  return {0, left, plain(other), ahead, now}
end
return {0, first and not unsure and kept - ms or 1, plain(first), ahead, now}
