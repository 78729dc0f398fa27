-- Makes one attempt to acquire a permit of a semaphore, in the order of the queue.
--
-- A semaphore is a sorted set: each permit, as holder/attempt, with the end of its
-- lease in µs of the server's clock.
--
-- KEYS  1  the semaphore   2  the permits' fences: a hash
--       3  the queue       4  when each reservation expires
--       5  how long each reservation lasts
-- ARGV  see acquire_common.lua
--       8  number of permits
--       9  PUBLISH or SPUBLISH
--      10  the channel; a waiter's channel is this one, a colon and its name
--
-- Returns: see acquire_common.lua.

local fences, queue = KEYS[2], {key = KEYS[3], expiries = KEYS[4], leases = KEYS[5]}
local limit, name = tonumber(ARGV[8]), holder .. '/' .. attempt
local lease_end = now + tonumber(lease) * 1000

-- grant records the permit. The keys last until the last permit ends.
local function grant(fence, ends)
  redis.call('ZADD', lock, ends, name)
  redis.call('HSET', fences, name, string.format('%.0f', fence))
  local last = tonumber(redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2])
  local life = string.format('%.0f', math.ceil((last - now) / 1000))
  redis.call('PEXPIRE', lock, life)
  redis.call('PEXPIRE', fences, life)
  return granted(fence, 1)
end

local used, mine, expired = 0, nil, {}
local left = redis.call('PTTL', lock)
if left ~= -2 then
  -- A sorted set that is not a semaphore must not lose members.
  for _, permit in ipairs(redis.call('ZRANGE', lock, 0, 15)) do
    if left == -1 or not is_permit(permit, fences) then
      return {4, now}
    end
  end
  local current = string.format('%.0f', now)
  used = redis.call('ZCOUNT', lock, '(' .. current, '+inf')
  mine = tonumber(redis.call('ZSCORE', lock, name))
  expired = redis.call('ZRANGE', lock, '-inf', current, 'BYSCORE', 'LIMIT', 0, 16)
end
local fence = tonumber(redis.call('HGET', fences, name))
local seen = exists(queue) and scan_front(queue, name)
if #expired > 0 then
  redis.call('ZREM', lock, unpack(expired))
  redis.call('HDEL', fences, unpack(expired))
end

if mine and mine > now then
  return grant(fence or next_fence(), math.max(mine, lease_end))
end

if seen then
  prune(queue, seen)
end
if used < limit and (not seen or seen.first == name or not seen.first and not seen.incomplete) then
  if seen then
    remove(queue, seen.expired)
    remove(queue, {name})
    -- There may be a permit for the next waiter, too. Its own limit decides, so
    -- the notification is a hint, and may fail.
    local next = scan_front(queue).first
    if next then
      redis.pcall(ARGV[9], ARGV[10] .. ':' .. next, '0')
    end
  end
  return grant(next_fence(), lease_end)
end

if queue_lease > 0 then
  enqueue({queue}, name, queue_lease)
end
local ahead = count_ahead({queue}, name)
if used >= limit then
  local first = redis.call('ZRANGE', lock, '(' .. string.format('%.0f', now), '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
  local ends = tonumber(redis.call('ZSCORE', lock, first))
  return {0, math.ceil((ends - now) / 1000), holder_of(first), ahead, now}
end
return {0, seen.first and seen.kept_until - ms or 1, holder_of(seen.first or ''), ahead, now}
