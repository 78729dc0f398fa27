-- Returns or abandons an attempt's permit, or gives up the attempt's queue
-- position, and notifies the first waiter.
--
-- KEYS  1  the semaphore   2  its channel; a waiter's channel is this one, a colon
--                             and the waiter's name
--       3  the permits' fences    4  the queue
--       5  when each reservation expires   6  how long each reservation lasts
-- ARGV and returns: see release_common.lua.

local fences, queue = KEYS[3], {key = KEYS[4], expiries = KEYS[5], leases = KEYS[6]}
local name = holder .. '/' .. attempt

local mine = tonumber(redis.call('ZSCORE', lock, name))
local held = mine and mine > now
redis.call('HLEN', fences) -- a key of another type must fail before the first write

local seen, first, queued
if exists(queue) then
  seen = scan_front(queue, nil, name)
  first, queued = seen.first, redis.call('ZSCORE', queue.key, name)
end

-- Publish first: if the user may not publish, the permit must stay as it was.
local notified = 0
if first and (held or queued) then
  notified = redis.call(publish, channel .. ':' .. first, '0')
elseif held then
  notified = redis.call(publish, channel, '0')
end

if mine then
  redis.call('ZREM', lock, name)
  redis.call('HDEL', fences, name)
  local last = tonumber(redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2])
  if last then
    local left = string.format('%.0f', math.max(math.ceil((last - now) / 1000), 1))
    redis.call('PEXPIRE', lock, left)
    redis.call('PEXPIRE', fences, left)
  end
end
if seen then
  prune(queue, seen)
  remove(queue, {name})
end

if held then
  return finish(first and {0, notified} or 1 + notified)
end
local used = redis.call('ZCOUNT', lock, '(' .. string.format('%.0f', now), '+inf')
return finish(used > 0 and -1 or 0)
