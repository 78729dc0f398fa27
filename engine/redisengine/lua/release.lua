-- Releases or abandons an attempt's hold of an exclusive lock.
--
-- KEYS, ARGV and returns: see release_common.lua.

local mark = 'fence:' .. attempt
local seen = redis.call('HMGET', lock, holder, mark)
if not (seen[1] and seen[2]) then
  return finish(-redis.call('EXISTS', lock))
end
if tonumber(seen[1]) > 1 then
  redis.call('HDEL', lock, mark)
  return finish({redis.call('HINCRBY', lock, holder, -1), 0})
end
-- Publish first: if the user may not publish, the lock must stay as it was.
local notified = redis.call(publish, channel, '0')
redis.call('DEL', lock)
return finish(1 + notified)
