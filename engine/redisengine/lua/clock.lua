-- Shared: the server's time, in µs and in ms.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ms = math.floor(now / 1000)
