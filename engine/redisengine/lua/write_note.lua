-- Replaces the text of a note, if nobody else has meanwhile.
--
-- A note is a hash: version, how often it was written; text; and at, when, in µs
-- of this server's clock. It has no end.
--
-- KEYS  1  the note
-- ARGV  1  text            2  the version that it replaces
--
-- Returns 1 if it says so now, by this call or by one before it whose answer was
-- lost; and 0 if somebody else has written it.

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
