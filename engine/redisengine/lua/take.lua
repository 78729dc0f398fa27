-- Takes a unit of a quota, or only reports the usage.
--
-- A quota is a sorted set: each member is an attempt, its score the time at which it took
-- its unit, in µs.
--
-- KEYS  1  the quota
-- ARGV  1  the attempt; "-" to take nothing     2  the limit
--       3  the window, µs; 0 for a calendar window
--       4  and 5  the beginning and the end of the calendar window, µs
--
-- Returns { granted, units used, time until fewer are used in µs, now in µs }. granted is 1
-- or 0, or -1 outside of the calendar window.

local quota, attempt, limit = KEYS[1], ARGV[1], tonumber(ARGV[2])
local window, from, to = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if window == 0 and (now < from or now >= to) then
  return { -1, 0, 0, now }
end

if window > 0 then
  -- The clock may have been set back. Then a unit counts as taken now.
  for _, late in ipairs(redis.call('ZRANGE', quota, '(' .. string.format('%.0f', now), '+inf', 'BYSCORE')) do
    redis.call('ZADD', quota, string.format('%.0f', now), late)
  end
  redis.call('ZREMRANGEBYSCORE', quota, '-inf', string.format('%.0f', now - window))
end

local used, granted = redis.call('ZCARD', quota), 0
if attempt ~= '-' and redis.call('ZSCORE', quota, attempt) then
  granted = 1
elseif attempt ~= '-' and used < limit then
  redis.call('ZADD', quota, string.format('%.0f', now), attempt)
  local left = window > 0 and window or to - now
  redis.call('PEXPIRE', quota, math.ceil(left / 1000))
  used, granted = used + 1, 1
end

local next = 0
if used > 0 and window == 0 then
  next = to - now
elseif used > 0 then
  local unit = math.max(used - limit, 0)
  next = redis.call('ZRANGE', quota, unit, unit, 'WITHSCORES')[2] + window - now
end
return { granted, used, next, now }
