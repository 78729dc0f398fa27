-- How the end of a hold of a read/write lock is made known. It stands after
-- parting.lua, before the scripts that release such locks.
--
-- ARGV  5  1 if the lock is shared with Redisson, otherwise 0

-- tell says on a channel that a lock is free, or open to those who read, and returns
-- how many heard it. Redisson's clients listen on the one for all, stand in no line
-- of ours, and would sleep for as long as ours go on in it: they are told besides.
-- What is more, they lose a 1 that comes when a reader of theirs has asked and does
-- not listen yet. They do not lose a 0, and do not mind one too many.
local function tell(where, message)
  local told = redis.call(publish, where, message)
  if ARGV[5] == '1' then
    if where ~= channel then
      redis.call(publish, channel, message)
    end
    if message == '1' then
      redis.call(publish, channel, '0')
    end
  end
  return told
end
