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

local function release()
  local seen = redis.call('HMGET', lock, holder, attempt)
  if not (seen[1] and seen[2]) then
    return -redis.call('EXISTS', lock)
  end
  if tonumber(seen[1]) > 1 then
    redis.call('HDEL', lock, attempt)
    return {redis.call('HINCRBY', lock, holder, -1)}
  end
  -- Publishes first, as release.lua does.
  local told = redis.call(ARGV[3], KEYS[2], '0')
  redis.call('DEL', lock)
  return 1 + told
end

-- In this order: a server without memory refuses a script's first write if it
-- takes some, but none after one that did not.
local parting = release()
redis.call('SET', KEYS[3], '1', 'PX', ARGV[4])
return parting
