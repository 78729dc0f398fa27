-- Makes one attempt to take a lock in the order in which it is asked for.
--
-- KEYS  1  the lock        2  the queue: a list of holders
--       3  until when their places are kept    4  for how long they are
-- ARGV  those of attempt.lua

local line = {list = true, key = KEYS[2], places = KEYS[3], lengths = KEYS[4]}
local mark = 'fence:' .. attempt

local left = redis.call('PTTL', lock)
local held, fence, other
if left ~= -2 then
  local seen = redis.call('HMGET', lock, holder, mark, 'mode')
  if seen[3] then
    return {4, now}
  end
  -- A lock's fields are holders with their counts, and fences. Only the first few
  -- are looked at: what is no lock may have millions.
  local fields = redis.call('HSCAN', lock, 0, 'COUNT', 16)[2]
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 6) == 'fence:' then
      fence = tonumber(fields[i + 1])
    elseif string.find(fields[i + 1], '^[1-9]%d*$') and (left >= 0 or string.find(fields[i], ':', 1, true)) then
      other = fields[i]
    else
      return {4, now}
    end
  end
  if not other and not fence then
    return {4, now}
  end
  held = seen[1] and seen
end

local seen = exists(line) and look(line, holder)

if held then
  if seen then
    drop(line, {holder})
  end
  local count = tonumber(held[1])
  if held[2] then
    fence = tonumber(held[2])
  else
    count = redis.call('HINCRBY', lock, holder, 1)
    fence = fence or next_fence()
    redis.call('HSET', lock, mark, string.format('%.0f', fence))
  end
  if left >= 0 and left < tonumber(lease) then
    redis.call('PEXPIRE', lock, lease)
  end
  return {1, fence, count, now}
end

if left == -2 and (not seen or seen.first == holder or not seen.first and not seen.unsure) then
  if seen then
    tidy(line, seen)
    drop(line, seen.passed)
    drop(line, {holder})
    shorten(line)
    outlast(line)
  end
  fence = next_fence()
  redis.call('HSET', lock, holder, 1, mark, string.format('%.0f', fence))
  redis.call('PEXPIRE', lock, lease)
  return granted(fence, 1)
end

if seen then
  tidy(line, seen)
end
local ahead = seen and redis.call('LPOS', line.key, holder)
if place > 0 then
  if ahead and not keeps(line, holder) then
    redis.call('LREM', line.key, 0, holder) -- nobody has looked that far since it was over
    ahead = false
  end
  ahead = ahead or redis.call('RPUSH', line.key, holder) - 1
  keep({line}, holder, place, beyond(line, ahead))
end
ahead = ahead or redis.call('LLEN', line.key)

if left ~= -2 then
  return {0, left, other or '', ahead, now}
end
-- With nobody among the first, there are more to be taken away: come back soon.
return {0, seen.first and seen.kept - ms or 1, seen.first or redis.call('LINDEX', line.key, 0) or '', ahead, now}
