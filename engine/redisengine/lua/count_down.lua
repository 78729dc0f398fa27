-- Counts a latch down, or only looks at it.
--
-- A latch is a hash: mode, which is latch; total, how often it is to be counted
-- down; and counted:<who>, once for each attempt that was counted.
--
-- KEYS  1  the latch       2  its channel
-- ARGV  1  total, should nobody have heard of it
--       2  who counts, as in holder/attempt; - to look
--       3  life, ms        4  PUBLISH or SPUBLISH
--
-- Returns how many are missing; -1 if the key holds something else.

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
    -- Publishes first: a server that forbids it must not leave an open latch of
    -- which nobody hears.
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
