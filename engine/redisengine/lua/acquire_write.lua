-- Makes one attempt to write: beside nobody, and past nobody who came before.
--
-- KEYS  1  the lock        2  the writers in line    3  the readers in line
--       4  until when their places are kept
-- ARGV  those of attempt.lua
--       8  that of readwrite.lua

local lines, places = {KEYS[2], KEYS[3]}, KEYS[4]
local name = holder .. ':write'

local left = redis.call('PTTL', lock)
local mode, reads, writes, mark
local other     -- who holds the lock
local dead = {} -- fields of readers whose lease is over
if left ~= -2 then
  mode, reads, writes, mark = unpack(redis.call('HMGET', lock, 'mode', holder, name, 'fence:' .. name))
  local fields, all = sample(lock)
  local some = (mode == 'read' or mode == 'write') and readers_in(fields)
  if not some then
    return {4, now}
  end
  if mode == 'write' and writes then
    local count, fence = tonumber(writes), fence_of(mark)
    leave(lines[1], places, name)
    if not through(mark, attempt) then
      fence = fence or next_fence()
      count = redis.call('HINCRBY', lock, name, 1)
      redis.call('HSET', lock, 'fence:' .. name, (mark or '#' .. string.format('%.0f', fence)) .. ' ' .. attempt)
    end
    if left >= 0 and left < tonumber(lease) then
      redis.call('PEXPIRE', lock, lease)
    end
    return {1, fence, count, now}
  end
  if mode == 'read' and reads and left_of(holder, reads) ~= -2 then
    return {5, now}
  end
  other = mode == 'write' and some[1]
  if mode == 'read' then
    for i = 1, #some, 2 do
      if left_of(some[i], some[i + 1]) ~= -2 then
        other = some[i]
        break
      end
      dead[#dead + 1] = some[i]
      dead[#dead + 1] = 'fence:' .. some[i]
    end
    if not other then
      -- If those are not all, there may be more of them: come back soon.
      left, other = all and -2 or 1, some[1]
    else
      dead = {}
    end
  end
end

local writer, reader
if redis.call('EXISTS', lines[1], lines[2], places) > 0 then
  writer, reader = look(lines[1], places), look(lines[2], places)
  clear(writer, places)
  clear(reader, places)
end

if left == -2 and mode then
  redis.call('DEL', lock) -- no reader is left whose lease is not over
elseif #dead > 0 then
  redis.call('HDEL', lock, unpack(dead))
end

-- Who of those in line comes first.
local first, kept, unsure
if writer then
  local one = writer
  if not writer.since or reader.since and reader.since < writer.since then
    one = reader
  end
  first, kept, unsure = one.first, one.kept, writer.unsure or reader.unsure
end

if left == -2 and (first == name or not first) and not unsure then
  local fence = next_fence()
  if writer then
    leave(lines[1], places, name)
  end
  redis.call('HSET', lock, 'mode', 'write', name, 1, 'fence:' .. name, '#' .. string.format('%.0f', fence) .. ' ' .. attempt)
  redis.call('PEXPIRE', lock, lease)
  return granted(fence, 1)
end

if place > 0 then
  line_up(lines, places, name, place)
end
local ahead = ahead_of(lines, places, name)
if left ~= -2 then
  return {0, left, plain(other), ahead, now}
end
return {0, first and not unsure and kept - ms or 1, plain(first), ahead, now}
