-- Finds records. One whose two entries are found apart is told about twice.
--
-- ARGV  1  where to go on; 0 at first
--       2  a pattern       3  how many keys to look at, about
--       4  what the names of lock entries begin with
--       5  what those of result entries do
--
-- Returns an array: where to go on, 0 at the end; the time in µs of this server's
-- clock; and of each record how its entries' names end, and what outline.lua has,
-- without the result.

local time = redis.call('TIME')
local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])

-- rest returns how the name of an entry ends, or nothing if it is none.
local function rest(name)
  for _, start in ipairs({ARGV[4], ARGV[5]}) do
    if string.sub(name, 1, #start) == start then
      return string.sub(name, #start + 1)
    end
  end
end

local found, known = {page[1], time[1] * 1000000 + time[2]}, {}
for _, name in ipairs(page[2]) do
  local tail = rest(name)
  if tail and not known[tail] then
    known[tail] = true
    local lock, result = ARGV[4] .. tail, ARGV[5] .. tail
    -- A user who may not look at a key has nothing there.
    local _, claim = peek(lock)
    local _, mark = peek(result)
    local record = claim and outline(1, claim, lock, '') or mark and over(mark, result)
    if record then
      found[#found + 1] = tail
      for part = 1, 6 do
        found[#found + 1] = record[part]
      end
    end
  end
end
return found
