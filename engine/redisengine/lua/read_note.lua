-- Reads a note.
--
-- KEYS  1  the note: see write_note.lua
--
-- Returns its version, or 0 if it was never written; its text; and its age in µs of
-- the server's clock.

local note = redis.call('HMGET', KEYS[1], 'version', 'text', 'at')
if not note[1] then
  return {0, '', 0}
end
local time = redis.call('TIME')
local age = time[1] * 1000000 + time[2] - (tonumber(note[3]) or 0)
return {tonumber(note[1]) or 0, note[2] or '', math.max(age, 0)}
