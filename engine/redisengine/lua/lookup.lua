-- Reports a record, and changes nothing.
--
-- KEYS  1  the lock entry   2  the result entry
--
-- Returns the items of record_reply.lua, and the time in µs of the server's clock.

return look_up(KEYS[1], KEYS[2], true)
