-- Forgets what became of work, unless it still runs, and tells who listens.
--
-- KEYS  1  the lock entry   2  the result entry   3  the channel
-- ARGV  1  PUBLISH or SPUBLISH
--
-- Returns what lookup.lua does of the record as it was, without the result.

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
  local was = dated(over(mark, KEYS[2]))
  -- Publishes first, as settle.lua does.
  redis.call(ARGV[1], KEYS[3], '0')
  redis.call('DEL', KEYS[2])
  return was
end
return dated({0, 0, 0, 0, '', ''})
