-- Releases or abandons an attempt's read lock, or gives up the holder's queue
-- position.
--
-- KEYS  1  the lock        2  its channel
--       3  the queue of readers    4  the queue of writers
--       5  when each reservation expires   6  how long each reservation lasts
-- ARGV  see release_common.lua
--       5  see rw_notify.lua       6  see readwrite.lua
--
-- Returns: see release_common.lua.

local readers = {key = KEYS[3], expiries = KEYS[5], leases = KEYS[6]}
local writers = {key = KEYS[4], expiries = KEYS[5], leases = KEYS[6]}
local mark_of, writer = 'fence:' .. holder, holder .. ':write'

local mode, reads, mark, writing = unpack(redis.call('HMGET', lock, 'mode', holder, mark_of, 'fence:' .. writer))
local held = reads and lease_left(lock, holder, reads) ~= -2 and has_attempt(mark, attempt)

if held and tonumber(reads) > 1 then
  redis.call('HDEL', lock, mark_of)
  redis.call('HSET', lock, mark_of, remove_attempt(mark, attempt))
  return finish({redis.call('HINCRBY', lock, holder, -1), 0})
end

-- others returns the ms left of the longest lease of the other holds, or -2 without
-- any, and the fields of expired ones. With many holds it stops at the first that has
-- not expired, and returns no time.
local function others()
  local many = redis.call('HLEN', lock) > 64
  local members = parse_members(lock, many and sample_fields(lock) or redis.call('HGETALL', lock))
  local left, expired = -2, {}
  if not members then
    return nil, expired -- the hash has other data, so it is not deleted
  end
  for i = 1, #members, 2 do
    if members[i] ~= holder then
      local rest = lease_left(lock, members[i], members[i + 1])
      left = math.max(left, rest)
      if rest == -2 then
        expired[#expired + 1] = members[i]
        expired[#expired + 1] = 'fence:' .. members[i]
      elseif many then
        break
      end
    end
  end
  return not many and left, expired
end

if held then
  local left, expired = others()
  if left == -2 then
    -- Publish first: if the user may not publish, the lock must stay as it was.
    local notified = notify(wake_channel(channel, writers, readers), '0')
    redis.call('DEL', lock, lease_key(holder, 1))
    return finish(1 + notified)
  end
  redis.call('HDEL', lock, holder, mark_of, unpack(expired))
  redis.call('DEL', lease_key(holder, 1))
  if mode == 'write' and writing then
    redis.call('DEL', lease_key(writer, 1)) -- its lease is that of the hash again
  end
  if left and left >= 0 then
    redis.call('PEXPIRE', lock, math.max(left, 1))
  end
  return finish({0, 0})
end

local free = redis.call('EXISTS', lock) == 0
if exists(readers) then
  scan_front(readers) -- keys of another type must fail before the first write
  if free and redis.call('ZSCORE', readers.key, holder) then
    redis.call(publish, channel, '0')
  end
  remove(readers, {holder})
end
return finish(free and 0 or -1)
