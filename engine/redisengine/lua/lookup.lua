-- Looks at a record, and changes nothing.
--
-- KEYS  1  the lock entry   2  the result entry
--
-- Returns what outline.lua has.

local seen = redis.call('MGET', KEYS[1], KEYS[2])
local claim, mark = seen[1] and read(seen[1]), seen[2] and read(seen[2])
if seen[1] and not claim or seen[2] and not mark or strangers(seen, 1, 2) > 0 then
  return foreign
end
if claim then
  return running(claim, KEYS[1])
elseif mark then
  return over(mark, KEYS[2], seen[2])
end
return absent
