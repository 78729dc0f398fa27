-- Reports the holders and waiters of a lock, and changes nothing.
--
-- KEYS, ARGV and returns: see inspect_common.lua.

return inspect()
