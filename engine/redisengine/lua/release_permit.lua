-- Gives back the permit that an attempt got, or gives up the attempt's place in
-- line, and tells who comes first.
--
-- KEYS  1  the semaphore   2  its channel: that of somebody in line is this one,
--                             a colon and the name
--       3  the permits' fences    4  the line
--       5  until when the places in it are kept    6  for how long they are
-- ARGV  those of parting.lua

local fences, line = KEYS[3], {key = KEYS[4], places = KEYS[5], lengths = KEYS[6]}
local name = holder .. '/' .. attempt

local mine = tonumber(redis.call('ZSCORE', lock, name))
local held = mine and mine > now
redis.call('HLEN', fences) -- it may be another kind of thing

local seen, first, stood
if exists(line) then
  seen = look(line, nil, name)
  first, stood = seen.first, redis.call('ZSCORE', line.key, name)
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
  tidy(line, seen)
  drop(line, {name})
end

if held then
  return buried(first and {0, told} or 1 + told)
end
local used = redis.call('ZCOUNT', lock, '(' .. string.format('%.0f', now), '+inf')
return buried(used > 0 and -1 or 0)
