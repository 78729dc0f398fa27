-- Ends the hold that an attempt began, or gives up its holder's place in line,
-- and tells who comes first if the lock is free.
--
-- KEYS  1  the lock        2  its channel: that of somebody in line is this one,
--                             a colon and the name
--       3  the queue       4  until when places are kept
-- ARGV  those of parting.lua

local queue, places, mark = KEYS[3], KEYS[4], 'fence:' .. attempt

local seen = redis.call('HMGET', lock, holder, mark)
local held = seen[1] and seen[2]
if held and tonumber(seen[1]) > 1 then
  redis.call('HDEL', lock, mark)
  return buried({redis.call('HINCRBY', lock, holder, -1), 0})
end

local first, gone, stood
local line = redis.call('EXISTS', queue, places) > 0
if line then
  stood = redis.call('LPOS', queue, holder)
  local kept
  first, kept, gone = survey(redis.call('LRANGE', queue, 0, window - 1), places, holder)
end

-- Publishes first: a server that forbids it must not leave half a release behind.
local free = held or redis.call('EXISTS', lock) == 0
local told = 0
if first and free and (held or stood) then
  told = redis.call(publish, channel .. ':' .. first, '0')
elseif held then
  told = redis.call(publish, channel, '0')
end
if held then
  redis.call('DEL', lock)
end
if line then
  redis.call('ZREM', places, holder)
  redis.call('LREM', queue, 0, holder)
  for _, name in ipairs(gone) do
    redis.call('ZREM', places, name)
    redis.call('LREM', queue, 1, name)
  end
end

if not held then
  return buried(free and 0 or -1)
end
return buried(first and {0, told} or 1 + told)
