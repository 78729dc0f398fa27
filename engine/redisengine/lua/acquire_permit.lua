-- Makes one attempt to get one of a number of permits, past nobody who came
-- before.
--
-- A semaphore is a sorted set: each permit, as in holder/attempt, and until when
-- it is held, in µs of this server's clock.
--
-- KEYS  1  the semaphore   2  the permits' fences: a hash
--       3  the line        4  until when the places in it are kept
-- ARGV  those of attempt.lua
--       8  how many permits there are
--       9  PUBLISH or SPUBLISH
--      10  the channel: that of somebody in line is this one, a colon and the name

local fences, line, places = KEYS[2], KEYS[3], KEYS[4]
local limit, name = tonumber(ARGV[8]), holder .. '/' .. attempt
local deadline = now + tonumber(lease) * 1000

-- keep lets the keys last until the last permit ends.
local function keep()
  local last = tonumber(redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2])
  local left = string.format('%.0f', math.ceil((last - now) / 1000))
  redis.call('PEXPIRE', lock, left)
  redis.call('PEXPIRE', fences, left)
end

local used, mine, over = 0, nil, {}
local left = redis.call('PTTL', lock)
if left ~= -2 then
  -- What is no semaphore may look like one, and must not lose anything by that.
  for _, permit in ipairs(redis.call('ZRANGE', lock, 0, 15)) do
    if left == -1 or not is_permit(permit) then
      return {4, now}
    end
  end
  local passed = string.format('%.0f', now)
  used = redis.call('ZCOUNT', lock, '(' .. passed, '+inf')
  mine = tonumber(redis.call('ZSCORE', lock, name))
  over = redis.call('ZRANGE', lock, '-inf', passed, 'BYSCORE', 'LIMIT', 0, 16)
end
local fence = tonumber(redis.call('HGET', fences, name))
local seen = redis.call('EXISTS', line, places) > 0 and look(line, places)
if #over > 0 then
  redis.call('ZREM', lock, unpack(over))
  redis.call('HDEL', fences, unpack(over))
end

if mine and mine > now then
  fence = fence or next_fence()
  redis.call('ZADD', lock, math.max(mine, deadline), name)
  redis.call('HSET', fences, name, string.format('%.0f', fence))
  keep()
  return granted(fence, 1)
end

local free, rank = limit - used, 0
if seen then
  clear(seen, places)
  rank = ahead_of({line}, places, name)
end

if rank < free then
  if free > 1 and seen then
    -- Another is free: who comes next has not been told of it. It is a hint.
    local next = look(line, places, name).first
    if next then
      redis.pcall(ARGV[9], ARGV[10] .. ':' .. next, '0')
    end
  end
  fence = next_fence()
  redis.call('ZADD', lock, deadline, name)
  redis.call('HSET', fences, name, string.format('%.0f', fence))
  if seen then
    leave(line, places, name)
  end
  keep()
  return granted(fence, 1)
end

if place > 0 then
  line_up({line}, places, name, place)
end
if used >= limit then
  local first = redis.call('ZRANGE', lock, '(' .. string.format('%.0f', now), '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
  local ends = tonumber(redis.call('ZSCORE', lock, first))
  return {0, math.ceil((ends - now) / 1000), holder_of(first), rank, now}
end
return {0, seen.first and seen.kept - ms or 1, holder_of(seen.first or ''), rank, now}
