-- Makes one attempt to acquire a fair lock, which is granted in the order of the
-- queue.
--
-- KEYS  1  the lock        2  the queue: a list of holders
--       3  when each reservation expires       4  how long each reservation lasts
-- ARGV  see acquire_common.lua
--       8  the command that publishes         9  the channel; see release_fair.lua
--
-- Returns: see acquire_common.lua.

local queue = {list = true, key = KEYS[2], expiries = KEYS[3], leases = KEYS[4]}

local left = redis.call('PTTL', lock)
local found
if left ~= -2 then
  found = read_lock(left)
  if not found then
    return {4, now}
  end
end

local seen = exists(queue) and scan_front(queue, holder)

if found and found.count then
  if seen then
    remove(queue, {holder})
  end
  return enter(found, left)
end

if left == -2 and (not seen or seen.first == holder or not seen.first and not seen.incomplete) then
  if seen then
    prune(queue, seen)
    remove(queue, seen.expired)
    remove(queue, {holder})
    trim_redisson(queue)
    extend_queue(queue)
  end
  return take()
end

-- A Redisson waiter that is notified just as it gives up drops the message. The next
-- waiter then sleeps although the lock is free. Notify it again if it is Redisson's:
-- only such a waiter has no entry in leases. The message is a hint, and may fail.
if left == -2 and seen.first and redis.call('HEXISTS', queue.leases, seen.first) == 0 then
  redis.pcall(ARGV[8], ARGV[9] .. ':' .. seen.first, '0')
end

if seen then
  prune(queue, seen)
end
local ahead = seen and redis.call('LPOS', queue.key, holder)
if queue_lease > 0 then
  if ahead and not has_position(queue, holder) then
    redis.call('LREM', queue.key, 0, holder) -- expired, but too far back for scan_front
    ahead = false
  end
  ahead = ahead or redis.call('RPUSH', queue.key, holder) - 1
  reserve({queue}, holder, queue_lease, redisson_margin(queue, ahead))
end
ahead = ahead or redis.call('LLEN', queue.key)

if left ~= -2 then
  return {0, left, found.other or '', ahead, now}
end
-- Without a first waiter, scan_front saw only expired and lost waiters, and there may be
-- more of them: the caller retries in 1 ms.
return {0, seen.first and seen.kept_until - ms or 1, seen.first or redis.call('LINDEX', queue.key, 0) or '', ahead, now}
