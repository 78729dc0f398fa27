-- Releases those of many exclusive or fair locks that the attempt holds once and
-- that no caller waits for in a queue. The other locks need a call each.
--
-- KEYS     for each hold: the lock, its channel, and its queue if it is a fair lock
-- ARGV  1  PUBLISH or SPUBLISH
--       2  number of keys for each hold: 2, or 3 for fair locks
--       …  for each hold: holder, attempt
--
-- Returns:
--   0           all holds ended, and there are no subscribers
--   {n, m, …}   for each hold: 1 + the number of subscribers notified, or 0 if the hold
--               needs its own call

local publish, size = ARGV[1], tonumber(ARGV[2])
local answers, no_subscribers = {}, true
for i = 1, #KEYS / size do
  local first = size * (i - 1) + 1
  local lock, at = KEYS[first], 2 * i + 1
  -- A key of another type, or a forbidden channel, must not fail the other holds.
  local seen = redis.pcall('HMGET', lock, ARGV[at], 'fence:' .. ARGV[at + 1])
  answers[i] = 0
  if not seen.err and seen[1] == '1' and seen[2]
      and (size == 2 or redis.call('EXISTS', KEYS[first + 2]) == 0) then
    local notified = redis.pcall(publish, KEYS[first + 1], '0')
    if type(notified) == 'number' then
      answers[i] = 1 + notified
      redis.call('DEL', lock)
    end
  end
  no_subscribers = no_subscribers and answers[i] == 1
end
return no_subscribers and 0 or answers
