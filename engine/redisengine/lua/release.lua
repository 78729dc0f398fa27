-- Ends the hold that an attempt began, and tells who listens if the lock is
-- free by that.
--
-- KEYS  1  the lock        2  its channel
-- ARGV  1  holder          2  attempt
--       3  PUBLISH or SPUBLISH
--
-- Returns:
--   1 + n      released, and n listeners were told
--   {count}    released, and as many holds of the same holder are left
--   0          nobody holds the lock
--   -1         somebody does, but not through this attempt

local lock, holder, attempt = KEYS[1], ARGV[1], 'fence:' .. ARGV[2]

local seen = redis.call('HMGET', lock, holder, attempt)
if not (seen[1] and seen[2]) then
  return -redis.call('EXISTS', lock)
end
if tonumber(seen[1]) > 1 then
  redis.call('HDEL', lock, attempt)
  return {redis.call('HINCRBY', lock, holder, -1)}
end
-- Publishes first: a server that forbids it must not leave half a release behind.
local told = redis.call(ARGV[3], KEYS[2], '0')
redis.call('DEL', lock)
return 1 + told
