-- Gives back the permit that an attempt got, or gives up the attempt's place in
-- line, and tells who comes first.
--
-- KEYS  1  the semaphore   2  its channel: that of somebody in line is this one,
--                             a colon and the name
--       3  the permits' fences    4  the line
--       5  until when the places in it are kept
-- ARGV  those of parting.lua

local fences, line, places = KEYS[3], KEYS[4], KEYS[5]
local name = holder .. '/' .. attempt

local mine = tonumber(redis.call('ZSCORE', lock, name))
local held = mine and mine > now
redis.call('HLEN', fences) -- it may be another kind of thing

local first, stood
local seen = redis.call('EXISTS', line, places) > 0 and look(line, places, name)
if seen then
  first, stood = seen.first, redis.call('ZSCORE', line, name)
end

-- Publishes first: a server that forbids it must not leave half a release behind.
local told = 0
if first and (held or stood) then
  told = redis.call(publish, channel .. ':' .. first, '0')
elseif held then
  told = redis.call(publish, channel, '0')
end

if mine then
  redis.call('ZREM', lock, name)
  redis.call('HDEL', fences, name)
  local last = tonumber(redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2])
  if last then
    local left = string.format('%.0f', math.max(math.ceil((last - now) / 1000), 1))
    redis.call('PEXPIRE', lock, left)
    redis.call('PEXPIRE', fences, left)
  end
end
if seen then
  clear(seen, places)
  leave(line, places, name)
end

if held then
  return buried(first and {0, told} or 1 + told)
end
local used = redis.call('ZCOUNT', lock, '(' .. string.format('%.0f', now), '+inf')
return buried(used > 0 and -1 or 0)
