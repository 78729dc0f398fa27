-- What an attempt to take a lock begins with. It stands before the scripts that
-- take locks of other kinds than the exclusive one.
--
-- KEYS  1  the lock; the kind's own follow it
--       #  the fence counter, only if the fence goes through one; and last
--          the attempt's tombstone, only if ARGV[4] is 0
-- ARGV  1  holder          2  attempt
--       3  lease, ms       4  µs of this server's clock after which the call
--                             comes too late; 0 if the tombstone is to tell
--       5  place, ms; 0 if who asks does not stand in line
--       6  room            7  the counter's life in ms, 0 for ever; - without one
--       8  … the kind's own
--
-- Such a script returns, with times in µs of this server's clock:
--   fence                         granted; the fence is also the time
--   {0, ms, holder, ahead, now}   busy; what is left of the holder's lease, or
--                                 of the place of who comes first
--   {1, fence, count, now}        granted; entered before, or ahead of the clock
--   {2, now}                      too late: ask again with the tombstone
--   {3, now}                      abandoned
--   {4, now}                      the key holds another kind of lock, or none
--   {5, now}                      who reads asks to write
--   {6, now}                      nobody else may read

local lock, holder, attempt = KEYS[1], ARGV[1], ARGV[2]
local lease, late, place = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local counter = ARGV[7] ~= '-' and KEYS[late == 0 and #KEYS - 1 or #KEYS]

if late == 0 then
  if redis.call('EXISTS', KEYS[#KEYS]) == 1 then
    return {3, now}
  end
elseif now > late then
  return {2, now}
end

-- Read before anything is written: it may be another kind of thing.
local last = counter and tonumber(redis.call('GET', counter))

local function next_fence()
  if not counter then
    return now
  end
  -- What a lost counter, or one that INCR has kept, is behind, the clock makes up.
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
