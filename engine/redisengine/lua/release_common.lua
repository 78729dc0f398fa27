-- Shared by the scripts that release a lock.
--
-- KEYS  1  the lock        2  its channel; the keys of its kind follow
--    last  the attempt's tombstone, only if ARGV[4] is not "-"
-- ARGV  1  holder          2  attempt
--       3  PUBLISH or SPUBLISH
--       4  lifetime of the tombstone in ms to abandon the attempt; "-" to release
--       5  … the arguments of the kind
--
-- Returns of such a script:
--   1 + n      released, and n subscribers were notified
--   {k, n}     released; the holder has k holds of this kind left, and n waiters
--              of the queue were notified
--   0          the lock is free
--   -1         another attempt holds the lock

local lock, channel, holder, attempt, publish = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]

-- finish leaves the tombstone of an abandoned attempt. It comes last: a server
-- without memory refuses the first write of a script if that needs memory, but no
-- write after one that did not.
local function finish(result)
  if ARGV[4] ~= '-' then
    redis.call('SET', KEYS[#KEYS], '1', 'PX', ARGV[4])
  end
  return result
end
