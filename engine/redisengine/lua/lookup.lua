-- Looks at a record, and changes nothing.
--
-- KEYS  1  the lock entry   2  the result entry
--
-- Returns what outline.lua has, and the time in µs of this server's clock.

local time = redis.call('TIME')

-- dated returns what is told about the record, with the time behind it.
local function dated(record)
  record[#record + 1] = time[1] * 1000000 + time[2]
  return record
end

local lock_entry, claim = peek(KEYS[1])
local result_entry, mark = peek(KEYS[2])
if lock_entry == true or result_entry == true then
  return dated({8, 0, 0, 0, '', ''})
elseif claim then
  return dated(outline(1, claim, KEYS[1], ''))
elseif mark then
  return dated(over(mark, KEYS[2], result_entry))
end
return dated({0, 0, 0, 0, '', ''})
