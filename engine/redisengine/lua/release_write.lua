-- Ends what an attempt writes, or gives up its holder's place in line. Who also
-- reads goes on reading, and others may beside it.
--
-- KEYS  1  the lock        2  its channel
--       3  the writers in line    4  the readers in line
--       5  until when their places are kept    6  for how long they are
-- ARGV  those of parting.lua
--       5  that of telling.lua    6  that of readwrite.lua

local writers = {key = KEYS[3], places = KEYS[5], lengths = KEYS[6]}
local readers = {key = KEYS[4], places = KEYS[5], lengths = KEYS[6]}
local name = holder .. ':write'

local mode, reads, writes, mark = unpack(redis.call('HMGET', lock, 'mode', holder, name, 'fence:' .. name))
local held = mode == 'write' and writes and through(mark, attempt) and (not reads or left_of(name, 1) ~= -2)
local left = reads and left_of(holder, reads) or -2

if held and tonumber(writes) > 1 then
  redis.call('HDEL', lock, 'fence:' .. name)
  redis.call('HSET', lock, 'fence:' .. name, without(mark, attempt))
  return buried({redis.call('HINCRBY', lock, name, -1), 0})
end

if held then
  -- Publishes first: a server that forbids it must not leave half a release behind.
  local told = tell(left == -2 and told_on(channel, writers, readers) or channel, '1')
  if left == -2 then
    redis.call('DEL', lock, timeout(name, 1))
    return buried(1 + told)
  end
  stop_writing(lock, name)
  if left >= 0 then
    redis.call('PEXPIRE', lock, math.max(left, 1))
  end
  return buried({0, told})
end

local free = redis.call('EXISTS', lock) == 0
if exists(writers) then
  look(writers) -- its keys may be other kinds of things
  if mode ~= 'write' and redis.call('ZSCORE', writers.key, name) then
    tell(channel, '1') -- those who came after it may be let in by that
  end
  drop(writers, {name})
end
return buried(free and 0 or -1)
