-- Counts a latch down, or only returns the number of counts left. Both create a missing
-- latch, and extend the lifetime of the latch.
--
-- A latch is a hash: mode, which is latch; total, the number of counts that open it;
-- and counted:<holder/attempt> for each attempt that has counted.
--
-- KEYS  1  the latch       2  its channel
-- ARGV  1  total, for a new latch
--       2  the attempt, as holder/attempt; "-" to count nothing
--       3  lifetime, ms    4  PUBLISH or SPUBLISH
--
-- Returns the number of counts left; -1 if the key holds other data.

local latch, total, life = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[3])
local counted, mine, left = 0, false, redis.call('PTTL', latch)
if left ~= -2 then
  local seen = redis.call('HMGET', latch, 'mode', 'total', 'counted:' .. ARGV[2])
  if seen[1] ~= 'latch' or not tonumber(seen[2]) then
    return -1
  end
  total, mine = tonumber(seen[2]), seen[3]
  counted = redis.call('HLEN', latch) - 2
end

if ARGV[2] ~= '-' and not mine and counted < total then
  counted = counted + 1
  if counted == total then
    -- Publish first: if the user may not publish, the latch must stay closed.
    redis.call(ARGV[4], KEYS[2], '0')
  end
  redis.call('HSET', latch, 'mode', 'latch', 'total', total, 'counted:' .. ARGV[2], 1)
elseif left == -2 then
  redis.call('HSET', latch, 'mode', 'latch', 'total', total)
end
if left < life then
  redis.call('PEXPIRE', latch, life)
end
return math.max(total - counted, 0)
