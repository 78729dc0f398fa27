-- Makes one attempt to take a lock, and answers a repeated one as the first.
--
-- KEYS  1  the lock
--       2  the fence counter, only if the fence goes through one
--       #  the attempt's tombstone, last, only if ARGV[4] is 0
-- ARGV  1  holder          2  attempt
--       3  lease, ms       4  µs of this server's clock after which the call
--                             comes too late; 0 if the tombstone is to tell
--       5  room, 6  the counter's life in ms, 0 for ever: only with a counter
--
-- Returns, with times in µs of this server's clock:
--   fence                     granted; the fence is also the time
--   {0, ms, holder, now}      busy; what is left of the holder's lease
--   {1, fence, count, now}    granted; entered before, or ahead of the clock
--   {2, now}                  too late: ask again with the tombstone
--   {3, now}                  abandoned
--   {4, now}                  the key holds another kind of lock, or none at all

local lock, holder, attempt = KEYS[1], ARGV[1], 'fence:' .. ARGV[2]
local lease, late = ARGV[3], tonumber(ARGV[4])
local counter = ARGV[5] and KEYS[2]

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

if late == 0 then
  if redis.call('EXISTS', KEYS[#KEYS]) == 1 then
    return {3, now}
  end
elseif now > late then
  return {2, now}
end

local function next_fence()
  if not counter then
    return now
  end
  -- What a lost counter, or one that INCR has kept, is behind, the clock makes up.
  local last = tonumber(redis.call('GET', counter))
  local fence = now
  if last and last >= now then
    fence = last + 1
  end
  local top = string.format('%.0f', fence + tonumber(ARGV[5]))
  if ARGV[6] == '0' then
    redis.call('SET', counter, top)
  else
    redis.call('SET', counter, top, 'PX', ARGV[6])
  end
  return fence
end

local left = redis.call('PTTL', lock)
if left == -2 then
  local fence = next_fence()
  redis.call('HSET', lock, holder, 1, attempt, string.format('%.0f', fence))
  redis.call('PEXPIRE', lock, lease)
  if fence == now then
    return now
  end
  return {1, fence, 1, now}
end

local seen = redis.call('HMGET', lock, holder, attempt, 'mode')
if seen[3] then
  return {4, now}
end

-- A lock's fields are holders with their counts, and fences. Only the first few
-- are looked at: what is no lock may have millions.
local fields = redis.call('HSCAN', lock, 0, 'COUNT', 16)[2]
local other, fence
for i = 1, #fields, 2 do
  if string.sub(fields[i], 1, 6) == 'fence:' then
    fence = tonumber(fields[i + 1])
  elseif string.find(fields[i + 1], '^[1-9]%d*$') and (left >= 0 or string.find(fields[i], ':', 1, true)) then
    other = fields[i]
  else
    return {4, now}
  end
end

if not seen[1] then
  if not other and not fence then
    return {4, now}
  end
  return {0, left, other or '', now}
end

local count = tonumber(seen[1])
if not seen[2] then
  count = redis.call('HINCRBY', lock, holder, 1)
  fence = fence or next_fence()
  redis.call('HSET', lock, attempt, string.format('%.0f', fence))
else
  fence = tonumber(seen[2])
end
if left >= 0 and left < tonumber(lease) then
  redis.call('PEXPIRE', lock, lease)
end
return {1, fence, count, now}
