-- Makes one attempt to acquire an exclusive lock. A repeated attempt gets the
-- answer of the first.
--
-- KEYS, ARGV and returns: see acquire_common.lua. A refusal has no queue position.

local left = redis.call('PTTL', lock)
if left == -2 then
  return take()
end
local found = read_lock(left)
if not found then
  return {4, now}
elseif found.count then
  return enter(found, left)
end
return {0, left, found.other or '', 0, now}
