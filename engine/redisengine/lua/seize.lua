-- Takes a lock away from all who hold it, and tells who waits.
--
-- KEYS  those of inspection.lua
--      10  the attempts from which it was taken: a set
--      11  the channel of a read/write lock
--      12  the channel of a semaphore
-- ARGV  those of inspection.lua
--       2  PUBLISH or SPUBLISH
--       3  for how long the attempts are remembered at least, in ms
--
-- Returns what inspect.lua does, and each attempt as one more:
--   attempt, kind, name, 0, 0, 0

local seen = inspect()
if seen[3] ~= 'holder' then
  return seen
end

redis.call('SCARD', KEYS[10]) -- it may be another kind of thing

-- Publishes first: a server that forbids it must not leave half a seizure behind.
local kind = seen[4]
if kind == 'exclusive' then
  local name = survey(redis.call('LRANGE', KEYS[3], 0, window - 1), KEYS[4])
  if name then
    redis.call(ARGV[2], KEYS[2] .. ':' .. name, '0')
  end
  redis.call(ARGV[2], KEYS[2], '0')
elseif kind == 'permit' then
  local name = survey(redis.call('ZRANGE', KEYS[7], 0, window - 1), KEYS[8])
  if name then
    redis.call(ARGV[2], KEYS[12] .. ':' .. name, '0')
  end
  redis.call(ARGV[2], KEYS[12], '0')
else
  redis.call(ARGV[2], KEYS[11], '1')
end

local longest_lease = 0
for i = 3, #seen, 6 do
  if seen[i] == 'holder' then
    longest_lease = math.max(longest_lease, seen[i + 5])
    if seen[i + 1] == 'read' then
      for entry = 1, math.min(seen[i + 3], 64) do
        redis.call('DEL', timeout(seen[i + 2], entry))
      end
    end
  end
end
redis.call('DEL', lock)
if kind == 'permit' then
  redis.call('DEL', KEYS[9])
end

for from = 1, #attempts, 100 do
  redis.call('SADD', KEYS[10], unpack(attempts, from, math.min(from + 99, #attempts)))
end
local remembered = math.max(tonumber(ARGV[3]), 3 * longest_lease)
if #attempts > 0 and redis.call('PTTL', KEYS[10]) < remembered then
  redis.call('PEXPIRE', KEYS[10], remembered)
end

for _, name in ipairs(attempts) do
  for _, item in ipairs({'attempt', kind, name, 0, '0', 0}) do
    seen[#seen + 1] = item
  end
end
return seen
