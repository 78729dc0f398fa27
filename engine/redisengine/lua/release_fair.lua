-- Releases or abandons an attempt's hold of a fair lock, or gives up the holder's
-- queue position. If the lock is free, the first waiter is notified.
--
-- KEYS  1  the lock        2  its channel; a waiter's channel is this one, a colon
--                             and the waiter's name
--       3  the queue       4  when each reservation expires
--       5  how long each reservation lasts
-- ARGV and returns: see release_common.lua.

local queue = {list = true, key = KEYS[3], expiries = KEYS[4], leases = KEYS[5]}
local mark = 'fence:' .. attempt

local hold = redis.call('HMGET', lock, holder, mark)
local held = hold[1] and hold[2]
if held and tonumber(hold[1]) > 1 then
  redis.call('HDEL', lock, mark)
  return finish({redis.call('HINCRBY', lock, holder, -1), 0})
end

local seen, first, queued
if exists(queue) then
  seen = scan_front(queue, nil, holder)
  first, queued = seen.first, redis.call('LPOS', queue.key, holder)
end

-- Publish first: if the user may not publish, the lock must stay as it was.
local free = held or redis.call('EXISTS', lock) == 0
local notified = 0
if first and free and (held or queued) then
  notified = redis.call(publish, channel .. ':' .. first, '0')
elseif held then
  notified = redis.call(publish, channel, '0')
end
if held then
  redis.call('DEL', lock)
end
if seen then
  prune(queue, seen)
  remove(queue, {holder})
  extend_queue(queue)
end

if not held then
  return finish(free and 0 or -1)
end
return finish(first and {0, notified} or 1 + notified)
