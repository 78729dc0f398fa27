-- Notifies the subscribers of some channels.
--
-- KEYS     the channels
-- ARGV  1  PUBLISH or SPUBLISH
--
-- Returns the number of subscribers.

local notified = 0
for _, channel in ipairs(KEYS) do
  notified = notified + redis.call(ARGV[1], channel, '0')
end
return notified
