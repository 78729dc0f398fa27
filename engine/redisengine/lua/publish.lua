-- Tells those who listen on some channels.
--
-- KEYS     the channels
-- ARGV  1  PUBLISH or SPUBLISH
--
-- Returns how many were told.

local told = 0
for _, channel in ipairs(KEYS) do
  told = told + redis.call(ARGV[1], channel, '0')
end
return told
