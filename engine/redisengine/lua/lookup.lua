-- Looks at a record, and changes nothing.
--
-- KEYS  1  the lock entry   2  the result entry
--
-- Returns what outline.lua has.

local lock_entry, claim = peek(KEYS[1])
local result_entry, mark = peek(KEYS[2])
if lock_entry == true or result_entry == true then
  return {8, 0, 0, 0, '', ''}
elseif claim then
  return outline(1, claim, KEYS[1], '')
elseif mark then
  return over(mark, KEYS[2], result_entry)
end
return {0, 0, 0, 0, '', ''}
