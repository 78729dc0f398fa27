-- Makes one attempt to get one of a number of permits, past nobody who came
-- before.
--
-- A semaphore is a sorted set: each permit, as in holder/attempt, and until when
-- it is held, in µs of this server's clock.
--
-- KEYS  1  the semaphore   2  the permits' fences: a hash
--       3  the line        4  until when the places in it are kept
--       5  for how long they are
-- ARGV  those of attempt.lua
--       8  how many permits there are
--       9  PUBLISH or SPUBLISH
--      10  the channel: that of somebody in line is this one, a colon and the name

local fences, line = KEYS[2], {key = KEYS[3], places = KEYS[4], lengths = KEYS[5]}
local limit, name = tonumber(ARGV[8]), holder .. '/' .. attempt
local deadline = now + tonumber(lease) * 1000

-- hold notes the permit, and lets the keys last until the last one ends.
local function hold(fence, deadline)
  redis.call('ZADD', lock, deadline, name)
  redis.call('HSET', fences, name, string.format('%.0f', fence))
  local last = tonumber(redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2])
  local life = string.format('%.0f', math.ceil((last - now) / 1000))
  redis.call('PEXPIRE', lock, life)
  redis.call('PEXPIRE', fences, life)
  return granted(fence, 1)
end

local used, mine, over = 0, nil, {}
local left = redis.call('PTTL', lock)
if left ~= -2 then
  -- What is no semaphore may look like one, and must not lose anything by that.
  for _, permit in ipairs(redis.call('ZRANGE', lock, 0, 15)) do
    if left == -1 or not is_permit(permit, fences) then
      return {4, now}
    end
  end
  local passed = string.format('%.0f', now)
  used = redis.call('ZCOUNT', lock, '(' .. passed, '+inf')
  mine = tonumber(redis.call('ZSCORE', lock, name))
  over = redis.call('ZRANGE', lock, '-inf', passed, 'BYSCORE', 'LIMIT', 0, 16)
end
local fence = tonumber(redis.call('HGET', fences, name))
local seen = exists(line) and look(line, name)
if #over > 0 then
  redis.call('ZREM', lock, unpack(over))
  redis.call('HDEL', fences, unpack(over))
end

if mine and mine > now then
  return hold(fence or next_fence(), math.max(mine, deadline))
end

if seen then
  tidy(line, seen)
end
if used < limit and (not seen or seen.first == name or not seen.first and not seen.unsure) then
  if seen then
    drop(line, seen.passed)
    drop(line, {name})
    -- Whether there is a permit for the next one, too, is for its own limit to
    -- say. It is told as a hint.
    local next = look(line).first
    if next then
      redis.pcall(ARGV[9], ARGV[10] .. ':' .. next, '0')
    end
  end
  return hold(next_fence(), deadline)
end

if place > 0 then
  line_up({line}, name, place)
end
local ahead = ahead_of({line}, name)
if used >= limit then
  local first = redis.call('ZRANGE', lock, '(' .. string.format('%.0f', now), '+inf', 'BYSCORE', 'LIMIT', 0, 1)[1]
  local ends = tonumber(redis.call('ZSCORE', lock, first))
  return {0, math.ceil((ends - now) / 1000), holder_of(first), ahead, now}
end
return {0, seen.first and seen.kept - ms or 1, holder_of(seen.first or ''), ahead, now}
