-- Lets the leases of many claims begin anew, and keeps the marks of their
-- beginnings. Nothing is shortened, and no claim comes back.
--
-- KEYS     of n claims: the lock entries, then the result entries
-- ARGV     of each claim in turn: the attempt, with its length, as in record.lua; lease,
--          ms; retain, ms
--
-- Returns an array: for each claim 1, or 0 if it is over.

local n = #KEYS / 2
local seen = redis.call('MGET', unpack(KEYS))
local renewed = {}
for i = 1, n do
  local at = 3 * i - 2
  local held = has(ARGV[at], seen[i])
  if held then
    hold(KEYS[i], seen[i], ARGV[at + 1], KEYS[n + i], seen[n + i], ARGV[at + 2] ~= '0' and ARGV[at + 2])
  end
  renewed[i] = held and 1 or 0
end
return renewed
