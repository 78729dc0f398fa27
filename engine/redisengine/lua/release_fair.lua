-- Ends the hold that an attempt began, or gives up its holder's place in line,
-- and tells who comes first if the lock is free.
--
-- KEYS  1  the lock        2  its channel: that of somebody in line is this one,
--                             a colon and the name
--       3  the queue       4  until when places are kept    5  for how long
-- ARGV  those of parting.lua

local line = {list = true, key = KEYS[3], places = KEYS[4], lengths = KEYS[5]}
local mark = 'fence:' .. attempt

local hold = redis.call('HMGET', lock, holder, mark)
local held = hold[1] and hold[2]
if held and tonumber(hold[1]) > 1 then
  redis.call('HDEL', lock, mark)
  return buried({redis.call('HINCRBY', lock, holder, -1), 0})
end

local seen, first, stood
if exists(line) then
  seen = look(line, nil, holder)
  first, stood = seen.first, redis.call('LPOS', line.key, holder)
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
if seen then
  tidy(line, seen)
  drop(line, {holder})
  outlast(line)
end

if not held then
  return buried(free and 0 or -1)
end
return buried(first and {0, told} or 1 + told)
