-- Ends what an attempt writes, or gives up its holder's place in line. Who also
-- reads goes on reading, and others may beside it.
--
-- KEYS  1  the lock        2  its channel
--       3  the writers in line    4  the readers in line
--       5  until when their places are kept
-- ARGV  those of parting.lua
--       5  that of readwrite.lua

local lines, places = {KEYS[3], KEYS[4]}, KEYS[5]
local name = holder .. ':write'

local mode, reads, writes, mark = unpack(redis.call('HMGET', lock, 'mode', holder, name, 'fence:' .. name))
local held = mode == 'write' and writes and through(mark, attempt)
local left = reads and left_of(holder, reads) or -2

if held and tonumber(writes) > 1 then
  redis.call('HDEL', lock, 'fence:' .. name)
  redis.call('HSET', lock, 'fence:' .. name, without(mark, attempt))
  return buried({redis.call('HINCRBY', lock, name, -1), 0})
end

if held then
  -- Publishes first: a server that forbids it must not leave half a release behind.
  local told = redis.call(publish, channel, '1')
  if left == -2 then
    redis.call('DEL', lock)
    return buried(1 + told)
  end
  redis.call('HDEL', lock, name, 'fence:' .. name)
  redis.call('HSET', lock, 'mode', 'read')
  if left >= 0 then
    redis.call('PEXPIRE', lock, math.max(left, 1))
  end
  return buried({0, told})
end

local free = redis.call('EXISTS', lock) == 0
if redis.call('ZSCORE', lines[1], name) then
  if mode ~= 'write' and redis.call('ZCARD', lines[1]) + redis.call('ZCARD', lines[2]) > 1 then
    redis.call(publish, channel, '1') -- those who came after it may be let in by that
  end
  leave(lines[1], places, name)
end
return buried(free and 0 or -1)
