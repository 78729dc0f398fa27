-- Replaces the text of a note, unless another client has replaced it before.
--
-- A note is a hash without an expiry: version, the number of writes; text; and at, the
-- time of the last write in µs of the server's clock.
--
-- KEYS  1  the note
-- ARGV  1  text            2  the version that the text replaces
--
-- Returns 1 if the note has this text now, also if an earlier call wrote it and its reply
-- was lost; 0 if another client has written.

local note = redis.call('HMGET', KEYS[1], 'version', 'text')
local version, read = tonumber(note[1]) or 0, tonumber(ARGV[2])
if version == read + 1 and note[2] == ARGV[1] then
  return 1
end
if version ~= read then
  return 0
end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'version', version + 1, 'text', ARGV[1],
  'at', string.format('%.0f', time[1] * 1000000 + time[2]))
return 1
