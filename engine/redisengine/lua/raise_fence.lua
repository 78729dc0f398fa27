-- Raises the fence of a hold to at least a given one, and the fence counter to at least
-- that fence plus the fence reserve.
--
-- KEYS  1  the lock        2  its fence counter
-- ARGV  1  holder          2  attempt
--       3  the fence       4  fence reserve
--       5  lifetime of the counter in ms, 0 for no expiry
--
-- Returns 1, or 0 if the attempt does not hold the lock.

local lock, holder, attempt = KEYS[1], ARGV[1], 'fence:' .. ARGV[2]

local seen = redis.call('HMGET', lock, holder, attempt, 'mode')
if not (seen[1] and seen[2]) or seen[3] then
  return 0
end

-- Read before the first write: a key of another type must fail the script early.
local last = tonumber(redis.call('GET', KEYS[2])) or 0

-- All entries of a holder have the same fence.
local fence = math.max(tonumber(ARGV[3]), tonumber(seen[2]))
local fields = redis.call('HGETALL', lock)
for i = 1, #fields, 2 do
  if string.sub(fields[i], 1, 6) == 'fence:' and tonumber(fields[i + 1]) < fence then
    redis.call('HSET', lock, fields[i], string.format('%.0f', fence))
  end
end

local top = math.max(last, fence + tonumber(ARGV[4]))
if ARGV[5] == '0' then
  redis.call('SET', KEYS[2], string.format('%.0f', top))
else
  redis.call('SET', KEYS[2], string.format('%.0f', top), 'PX', ARGV[5])
end
return 1
