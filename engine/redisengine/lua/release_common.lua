-- What the end of a hold, or of a place in line, begins with. It stands before
-- the scripts that release locks of other kinds than the exclusive one.
--
-- KEYS  1  the lock        2  its channel; the kind's own follow it
--       #  the attempt's tombstone, last, only if ARGV[4] is not -
-- ARGV  1  holder          2  attempt
--       3  PUBLISH or SPUBLISH
--       4  the tombstone's life in ms; - if the attempt is not abandoned
--       5  … the kind's own
--
-- Such a script returns:
--   1 + n      released, and n listeners were told
--   {k, n}     released; its holder has k holds of the same kind left, and n of
--              those in line were told
--   0          nobody holds the lock
--   -1         somebody does, but not through this attempt

local lock, channel, holder, attempt, publish = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]

-- Comes last: a server without memory refuses a script's first write if it takes
-- some, but none after one that did not.
local function buried(parting)
  if ARGV[4] ~= '-' then
    redis.call('SET', KEYS[#KEYS], '1', 'PX', ARGV[4])
  end
  return parting
end
