-- Releases or abandons an attempt's write lock, or gives up the holder's queue
-- position. A holder that also reads becomes a reader.
--
-- KEYS  1  the lock        2  its channel
--       3  the queue of writers    4  the queue of readers
--       5  when each reservation expires   6  how long each reservation lasts
-- ARGV  see release_common.lua
--       5  see rw_notify.lua       6  see readwrite.lua
--
-- Returns: see release_common.lua.

local writers = {key = KEYS[3], expiries = KEYS[5], leases = KEYS[6]}
local readers = {key = KEYS[4], expiries = KEYS[5], leases = KEYS[6]}
local name = holder .. ':write'

local mode, reads, writes, mark = unpack(redis.call('HMGET', lock, 'mode', holder, name, 'fence:' .. name))
local held = mode == 'write' and writes and has_attempt(mark, attempt) and (not reads or lease_left(lock, name, 1) ~= -2)
local left = reads and lease_left(lock, holder, reads) or -2

if held and tonumber(writes) > 1 then
  redis.call('HDEL', lock, 'fence:' .. name)
  redis.call('HSET', lock, 'fence:' .. name, remove_attempt(mark, attempt))
  return finish({redis.call('HINCRBY', lock, name, -1), 0})
end

if held then
  -- Publish first: if the user may not publish, the lock must stay as it was.
  local notified = notify(left == -2 and wake_channel(channel, writers, readers) or channel, '1')
  if left == -2 then
    redis.call('DEL', lock, lease_key(name, 1))
    return finish(1 + notified)
  end
  stop_writing(lock, name)
  if left >= 0 then
    redis.call('PEXPIRE', lock, math.max(left, 1))
  end
  return finish({0, notified})
end

local free = redis.call('EXISTS', lock) == 0
if exists(writers) then
  scan_front(writers) -- keys of another type must fail before the first write
  if mode ~= 'write' and redis.call('ZSCORE', writers.key, name) then
    notify(channel, '1') -- readers behind this writer may enter now
  end
  remove(writers, {name})
end
return finish(free and 0 or -1)
