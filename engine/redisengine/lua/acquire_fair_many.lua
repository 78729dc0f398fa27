-- Takes those of many fair locks that are free and for which nobody stands in
-- line. For the others acquire_fair.lua is to be asked, one by one.
--
-- KEYS     of each lock in turn: the lock, and its queue
-- ARGV  1  µs of this server's clock after which the call comes too late
--       …  of each lock in turn: holder, attempt, lease in ms
--
-- Returns what acquire_many.lua does.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[1]) then
  return 0
end

local fence = string.format('%.0f', now)
local others
for i = 1, #KEYS / 2 do
  local lock = KEYS[2 * i - 1]
  if redis.call('EXISTS', lock, KEYS[2 * i]) == 0 then
    local at = 3 * i - 1
    redis.call('HSET', lock, ARGV[at], 1, 'fence:' .. ARGV[at + 1], fence)
    redis.call('PEXPIRE', lock, ARGV[at + 2])
  else
    others = others or {now}
    others[#others + 1] = i
  end
end
return others or now
