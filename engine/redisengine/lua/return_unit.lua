-- Gives back the unit of an attempt; see take.lua.
--
-- KEYS  1  the quota
-- ARGV  1  the attempt
--       2  the window, µs; 0 for a calendar window
--       3  and 4  the beginning and the end of the calendar window, µs
--
-- Returns 1 if the unit counted, and 0 if not.

local window, from, to = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local taken = redis.call('ZSCORE', KEYS[1], ARGV[1])
local counted = taken and (window > 0 and taken + window > now or window == 0 and now >= from and now < to)
redis.call('ZREM', KEYS[1], ARGV[1])
return counted and 1 or 0
