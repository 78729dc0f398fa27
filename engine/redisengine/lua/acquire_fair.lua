-- Makes one attempt to take a lock in the order in which it is asked for.
--
-- KEYS  1  the lock        2  the queue: a list of holders
--       3  until when their places are kept: a sorted set
-- ARGV  those of attempt.lua

local queue, places, mark = KEYS[2], KEYS[3], 'fence:' .. attempt

local function stands_in_line()
  return redis.call('EXISTS', queue, places) > 0
end

-- Finds the holder before it writes: the queue may be another kind of thing.
local function leave()
  redis.call('LPOS', queue, holder)
  redis.call('ZREM', places, holder)
  redis.call('LREM', queue, 0, holder)
end

local left = redis.call('PTTL', lock)
local other
if left ~= -2 then
  local seen = redis.call('HMGET', lock, holder, mark, 'mode')
  if seen[3] then
    return {4, now}
  end
  -- A lock's fields are holders with their counts, and fences. Only the first few
  -- are looked at: what is no lock may have millions.
  local fields = redis.call('HSCAN', lock, 0, 'COUNT', 16)[2]
  local fence
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
  if seen[1] then
    if stands_in_line() then
      leave()
    end
    local count = tonumber(seen[1])
    if seen[2] then
      fence = tonumber(seen[2])
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
end

local first, kept, waiting
if stands_in_line() then
  local gone
  first, kept, gone = survey(redis.call('LRANGE', queue, 0, window - 1), places)
  for _, name in ipairs(gone) do
    redis.call('ZREM', places, name)
    redis.call('LREM', queue, 1, name)
  end
  waiting = redis.call('LLEN', queue) > 0
end

if left == -2 and (first == holder or not waiting) then
  local fence = next_fence()
  if stands_in_line() then
    leave()
  end
  redis.call('HSET', lock, holder, 1, mark, string.format('%.0f', fence))
  redis.call('PEXPIRE', lock, lease)
  return granted(fence, 1)
end

local ahead = redis.call('LPOS', queue, holder)
if place > 0 then
  local mine = tonumber(redis.call('ZSCORE', places, holder))
  redis.call('ZADD', places, ms + place, holder)
  if ahead and mine and mine <= ms then
    -- Nobody came for it in time, and nobody has looked that far since.
    redis.call('LREM', queue, 0, holder)
    ahead = false
  end
  ahead = ahead or redis.call('RPUSH', queue, holder) - 1
  local keep = life(places, place)
  redis.call('PEXPIRE', queue, keep)
  redis.call('PEXPIRE', places, keep)
end
ahead = ahead or redis.call('LLEN', queue)

if left ~= -2 then
  return {0, left, other or '', ahead, now}
end
-- With nobody among the first, there are more to be cleared away: come back soon.
return {0, first and kept - ms or 1, first or redis.call('LINDEX', queue, 0), ahead, now}
