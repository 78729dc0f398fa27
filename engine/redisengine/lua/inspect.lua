-- Looks at a lock, and changes nothing.
--
-- KEYS, ARGV and what it returns: see inspection.lua.

return inspect()
