-- Lets many leases begin anew. No lease is shortened, and no lock comes back.
--
-- KEYS     of each hold in turn: the lock; its fence counter if it has one; of who
--          reads or writes its own key, of a permit the permits' fences
-- ARGV     of each hold in turn: holder, attempt, lease in ms, the counter's life
--          in ms, or - if it has none, and - for an exclusive or fair lock, or
--          read, write or permit
--
-- Returns an array: for each hold 1, 0 if it is over, or 2 if it was taken away.

local renewed, key = {}, 0

local function next_key()
  key = key + 1
  return KEYS[key]
end

local function prolong(name, life)
  local left = redis.call('PTTL', name)
  if left >= 0 and left < tonumber(life) then
    redis.call('PEXPIRE', name, life)
  end
end

-- held_as tells whether the attempt reads or writes under a name, and lets its own
-- lease begin anew. A writer has one of its own if it reads as well.
local function held_as(kind, lock, holder, attempt, own, lease)
  local name = kind == 'write' and holder .. ':write' or holder
  local seen = redis.pcall('HMGET', lock, 'mode', name, 'fence:' .. name, holder)
  if seen.err or not (seen[1] and seen[2] and seen[3])
      or not string.find(seen[3] .. ' ', ' ' .. attempt .. ' ', 1, true) then
    return false
  end
  if kind == 'write' and not seen[4] then
    return true
  end
  prolong(own, lease)
  return redis.call('PTTL', own) ~= -2
end

-- prolong_permit lets a permit last for lease ms from now, and its keys no
-- shorter. It reports whether the permit is there.
local function prolong_permit(lock, fences, name, lease)
  local deadline = redis.pcall('ZSCORE', lock, name)
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  if type(deadline) ~= 'string' or tonumber(deadline) <= now then
    return false
  end
  -- The key's life comes first: a server without memory refuses a script's first
  -- write if it takes some.
  redis.call('PEXPIRE', lock, math.max(redis.call('PTTL', lock), lease + 1))
  prolong(fences, lease + 1)
  redis.call('ZADD', lock, math.max(tonumber(deadline), now + lease * 1000), name)
  return true
end

-- was_revoked tells whether an operator took the lock away from this attempt.
local function was_revoked(lock, holder, attempt)
  local name = string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}'
  return redis.pcall('SISMEMBER', 'interlock_revoked:' .. name, holder .. '/' .. attempt) == 1
end

for i = 1, #ARGV, 5 do
  local holder, attempt, lease, life, kind = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local lock = next_key()
  local counter = life ~= '-' and next_key()

  -- Another kind of thing at one key must not hold up the others.
  local held
  if kind == '-' then
    local seen = redis.pcall('HMGET', lock, holder, 'fence:' .. attempt)
    held = not seen.err and seen[1] and seen[2]
  elseif kind ~= 'permit' then
    held = held_as(kind, lock, holder, attempt, next_key(), lease)
  else
    held = prolong_permit(lock, next_key(), holder .. '/' .. attempt, tonumber(lease))
  end

  local answer = 0
  if held then
    answer = 1
    if kind ~= 'permit' then
      prolong(lock, lease)
    end
    if counter then
      prolong(counter, life)
    end
  elseif was_revoked(lock, holder, attempt) then
    answer = 2
  end
  renewed[#renewed + 1] = answer
end
return renewed
