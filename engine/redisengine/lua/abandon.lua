-- Ends the hold of an attempt whose outcome is unknown, and leaves a tombstone
-- by which the attempt is refused should it arrive only now.
--
-- KEYS  1  the lock        2  its channel
--       3  the attempt's tombstone
-- ARGV  1  holder          2  attempt
--       3  PUBLISH or SPUBLISH
--       4  the tombstone's life in ms
--
-- Returns what release.lua does.

local lock, holder, attempt = KEYS[1], ARGV[1], 'fence:' .. ARGV[2]

-- First of all: if there is no memory for it, nothing has happened.
redis.call('SET', KEYS[3], '1', 'PX', ARGV[4])

local seen = redis.call('HMGET', lock, holder, attempt)
if not (seen[1] and seen[2]) then
  return -redis.call('EXISTS', lock)
end
if tonumber(seen[1]) > 1 then
  redis.call('HDEL', lock, attempt)
  return {redis.call('HINCRBY', lock, holder, -1)}
end
redis.call('DEL', lock)
return 1 + redis.call(ARGV[3], KEYS[2], '0')
