-- Takes a lock away from all who hold it, and tells who comes next. If nobody
-- holds it, empties the line, and tells all who stood there.
--
-- KEYS  those of inspection.lua
--      11  the attempts from which it was taken: a set
--      12  the channel of a read/write lock
--      13  the channel of a semaphore
-- ARGV  those of inspection.lua
--       2  PUBLISH or SPUBLISH
--       3  for how long the attempts are remembered at least, in ms
--
-- Returns what inspect.lua does, and each attempt as one more:
--   attempt, kind, name, 0, 0, 0

local seen = inspect()
if seen[1] == '?' then
  return seen
end
local kind = seen[3] == 'holder' and seen[4]

local function tell(channel, message)
  redis.call(ARGV[2], channel, message)
end

-- tell_line tells all of a kind, and the first in line, or each who stands there.
local function tell_line(line, channel)
  local first = look(line).first
  local names = first and {first} or {}
  if not kind then
    names = redis.call(line.list and 'LRANGE' or 'ZRANGE', line.key, 0, told - 1)
  end
  for _, name in ipairs(names) do
    tell(channel .. ':' .. name, '0')
  end
  tell(channel, '0')
end

redis.call('SCARD', KEYS[11]) -- it may be another kind of thing

-- Publishes first: a server that forbids it must not leave half a seizure behind.
if kind == 'exclusive' or not kind and exists(queue) then
  tell_line(queue, KEYS[2])
end
if kind == 'permit' or not kind and exists(line) then
  tell_line(line, KEYS[13])
end
if kind == 'read' or kind == 'write' or not kind and redis.call('EXISTS', KEYS[5], KEYS[6]) > 0 then
  tell(KEYS[12], '1')
end

if not kind then
  redis.call('DEL', unpack(KEYS, 3, 9))
  return seen
end

local longest_lease = 0
for i = 3, #seen, 6 do
  if seen[i] == 'holder' then
    longest_lease = math.max(longest_lease, seen[i + 5])
    local name = seen[i + 1] == 'write' and seen[i + 2] .. ':write' or seen[i + 2]
    for entry = 1, kind ~= 'exclusive' and kind ~= 'permit' and math.min(seen[i + 3], 64) or 0 do
      redis.call('DEL', timeout(name, entry))
    end
  end
end
redis.call('DEL', lock)
if kind == 'permit' then
  redis.call('DEL', fences)
end

for from = 1, #attempts, 100 do
  redis.call('SADD', KEYS[11], unpack(attempts, from, math.min(from + 99, #attempts)))
end
local remembered = math.max(tonumber(ARGV[3]), 3 * longest_lease)
if #attempts > 0 and redis.call('PTTL', KEYS[11]) < remembered then
  redis.call('PEXPIRE', KEYS[11], remembered)
end

for _, name in ipairs(attempts) do
  for _, item in ipairs({'attempt', kind, name, 0, '0', 0}) do
    seen[#seen + 1] = item
  end
end
return seen
