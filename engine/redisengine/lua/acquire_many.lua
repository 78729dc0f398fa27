-- Takes those of many locks that are free. For the others acquire.lua is to be
-- asked, one by one.
--
-- KEYS     the locks
-- ARGV  1  µs of this server's clock after which the call comes too late
--       …  of each lock in turn: holder, attempt, lease in ms
--
-- Returns, with times in µs of this server's clock:
--   now              all were free and are taken, with now for a fence
--   {now, i, j, …}   all but the i-th, the j-th …, counted from 1
--   0                too late: none is taken

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[1]) then
  return 0
end

local fence = string.format('%.0f', now)
local others
for i = 1, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then
    local at = 3 * i - 1
    redis.call('HSET', KEYS[i], ARGV[at], 1, 'fence:' .. ARGV[at + 1], fence)
    redis.call('PEXPIRE', KEYS[i], ARGV[at + 2])
  else
    others = others or {now}
    others[#others + 1] = i
  end
end
return others or now
