-- Acquires those of many exclusive or fair locks that are free and that no caller
-- waits for. The other locks need a call each.
--
-- KEYS     for each lock: the lock, and its queue if it is a fair lock
-- ARGV  1  deadline in µs of the server's clock, after which the call is late
--       2  number of keys for each lock: 1, or 2 for fair locks
--       …  for each lock: holder, attempt, lease in ms
--
-- Returns, with times in µs of the server's clock:
--   now              all locks are acquired, with now as their fence
--   {now, i, j, …}   all locks but the i-th, the j-th and so on are acquired
--   0                late: no lock is acquired

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[1]) then
  return 0
end

local fence, size = string.format('%.0f', now), tonumber(ARGV[2])
local others
for i = 1, #KEYS / size do
  local last = size * i
  local lock = KEYS[last - size + 1]
  if redis.call('EXISTS', lock, KEYS[last]) == 0 then
    local at = 3 * i
    redis.call('HSET', lock, ARGV[at], 1, 'fence:' .. ARGV[at + 1], fence)
    redis.call('PEXPIRE', lock, ARGV[at + 2])
  else
    others = others or {now}
    others[#others + 1] = i
  end
end
return others or now
