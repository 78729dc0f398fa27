-- Shared by the scripts that release a read/write lock; must follow
-- release_common.lua.
--
-- ARGV  5  1 if the lock is shared with Redisson, otherwise 0

-- notify announces on a channel that the lock is free (0), or free for readers (1),
-- and returns the number of subscribers. Redisson's clients are not in our queues
-- and listen on the common channel only, so they are notified there as well. They
-- lose a 1 that arrives between their request and their subscription, but not a 0,
-- and an additional 0 does no harm.
local function notify(target, message)
  local notified = redis.call(publish, target, message)
  if ARGV[5] == '1' then
    if target ~= channel then
      redis.call(publish, channel, message)
    end
    if message == '1' then
      redis.call(publish, channel, '0')
    end
  end
  return notified
end
