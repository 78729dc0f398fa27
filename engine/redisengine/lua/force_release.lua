-- Takes a lock from all its holders, records their attempts as revoked, and notifies
-- the next waiter. A lock without holders loses its queue, and all waiters are notified.
--
-- KEYS  see inspect_common.lua
--      11  the revoked attempts: a set
--      12  the channel of a read/write lock
--      13  the channel of a semaphore
-- ARGV  see inspect_common.lua
--       2  PUBLISH or SPUBLISH
--       3  shortest time to keep the revoked attempts, in ms
--
-- Returns what inspect.lua returns, and for each attempt:
--   attempt, kind, name, 0, 0, 0

local seen = inspect()
if seen[1] == '?' then
  return seen
end
local kind = seen[3] == 'holder' and seen[4]

local function notify(channel, message)
  redis.call(ARGV[2], channel, message)
end

-- notify_queue notifies the common channel and the first waiter. If the queue is to be
-- deleted, it notifies every waiter.
local function notify_queue(queue, channel)
  local first = scan_front(queue).first
  local names = first and {first} or {}
  if not kind then
    names = redis.call(queue.list and 'LRANGE' or 'ZRANGE', queue.key, 0, max_waiters - 1)
  end
  for _, name in ipairs(names) do
    notify(channel .. ':' .. name, '0')
  end
  notify(channel, '0')
end

redis.call('SCARD', KEYS[11]) -- a key of another type must fail before the first write

-- Publish first: if the user may not publish, the lock must stay as it was.
if kind == 'exclusive' or not kind and exists(fair_queue) then
  notify_queue(fair_queue, KEYS[2])
end
if kind == 'permit' or not kind and exists(permit_queue) then
  notify_queue(permit_queue, KEYS[13])
end
if kind == 'read' or kind == 'write' or not kind and redis.call('EXISTS', KEYS[5], KEYS[6]) > 0 then
  notify(KEYS[12], '1')
  notify(KEYS[12], '0') -- Redisson may lose a 1; see rw_notify.lua
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
      redis.call('DEL', lease_key(name, entry))
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
local life = math.max(tonumber(ARGV[3]), 3 * longest_lease)
if #attempts > 0 and redis.call('PTTL', KEYS[11]) < life then
  redis.call('PEXPIRE', KEYS[11], life)
end

for _, name in ipairs(attempts) do
  for _, item in ipairs({'attempt', kind, name, 0, '0', 0}) do
    seen[#seen + 1] = item
  end
end
return seen
