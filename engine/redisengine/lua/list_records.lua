-- Lists records. A record whose two entries are on different pages is listed twice.
--
-- ARGV  1  cursor; 0 to begin
--       2  pattern         3  about how many keys to scan
--       4  prefix of lock entries
--       5  prefix of result entries
--
-- Returns an array: the next cursor, 0 at the end; the time in µs of the server's
-- clock; and for each record the name after the prefix, and the items of
-- record_reply.lua, without the result.

local time = redis.call('TIME')
local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])

-- suffix returns the name of an entry after its prefix; nil for another key.
local function suffix(name)
  for _, start in ipairs({ARGV[4], ARGV[5]}) do
    if string.sub(name, 1, #start) == start then
      return string.sub(name, #start + 1)
    end
  end
end

local found, known = {page[1], time[1] * 1000000 + time[2]}, {}
for _, name in ipairs(page[2]) do
  local tail = suffix(name)
  if tail and not known[tail] then
    known[tail] = true
    local lock, result = ARGV[4] .. tail, ARGV[5] .. tail
    -- A key that the user may not read counts as absent.
    local _, claim = peek(lock)
    local _, mark = peek(result)
    local record = claim and describe(1, claim, lock, '') or mark and describe_settled(mark, result)
    if record then
      found[#found + 1] = tail
      for part = 1, 6 do
        found[#found + 1] = record[part]
      end
    end
  end
end
return found
