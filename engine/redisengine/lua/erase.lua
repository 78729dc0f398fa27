-- Deletes a record, unless its work still runs, and notifies subscribers.
--
-- KEYS  1  the lock entry   2  the result entry   3  the channel
-- ARGV  1  PUBLISH or SPUBLISH
--
-- Returns what lookup.lua returns before the deletion, without the result.

local before = look_up(KEYS[1], KEYS[2], false)
if before[1] >= 2 and before[1] <= 4 then
  -- Publish first: if the user may not publish, the record must stay as it was.
  redis.call(ARGV[1], KEYS[3], '0')
  redis.call('DEL', KEYS[2])
end
return before
