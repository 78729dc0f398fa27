-- The time by this server's clock, in µs and in ms. It stands before all that
-- asks for it.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ms = math.floor(now / 1000)
