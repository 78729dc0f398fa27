-- Shared by the scripts that acquire a lock; must follow clock.lua. It refuses
-- late and abandoned attempts, and makes fences.
--
-- KEYS  1  the lock; the keys of its kind follow
--    next  the fence counter, only for a fenced lock
--    last  the attempt's tombstone, only if ARGV[4] is 0
-- ARGV  1  holder          2  attempt
--       3  lease, ms       4  deadline in µs of the server's clock, after which
--                             the call is late; 0 to read the tombstone
--       5  queue lease, ms; 0 if the caller does not queue
--       6  fence reserve   7  lifetime of the counter in ms, 0 for no expiry;
--                             "-" for a lock without a counter
--       8  … the arguments of the kind
--
-- Returns of such a script, with times in µs of the server's clock:
--   fence                         granted; the fence is also the time
--   {0, ms, holder, ahead, now}   busy; ms left of the holder's lease, or of the
--                                 reservation of the first waiter
--   {1, fence, count, now}        granted; the holder has entered again, or the
--                                 fence is ahead of the clock
--   {2, now}                      late: send again with deadline 0
--   {3, now}                      abandoned
--   {4, now}                      the key is another kind of lock, or not a lock
--   {5, now}                      a reader requests the write lock
--   {6, now}                      too many readers

local lock, holder, attempt = KEYS[1], ARGV[1], ARGV[2]
local lease, deadline, queue_lease = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local counter = ARGV[7] ~= '-' and KEYS[deadline == 0 and #KEYS - 1 or #KEYS]

if deadline == 0 then
  if redis.call('EXISTS', KEYS[#KEYS]) == 1 then
    return {3, now}
  end
elseif now > deadline then
  return {2, now}
end

-- Read before the first write: a key of another type must fail the script early.
local last = counter and tonumber(redis.call('GET', counter))

local function next_fence()
  if not counter then
    return now
  end
  -- The fence is the time, unless the counter has reached it. The counter may be lost, or
  -- be behind the time because Redisson moves it by INCR.
  local fence = now
  if last and last >= now then
    fence = last + 1
  end
  local top = string.format('%.0f', fence + tonumber(ARGV[6]))
  if ARGV[7] == '0' then
    redis.call('SET', counter, top)
  else
    redis.call('SET', counter, top, 'PX', ARGV[7])
  end
  return fence
end

local function granted(fence, count)
  if fence == now and count == 1 then
    return now
  end
  return {1, fence, count, now}
end
