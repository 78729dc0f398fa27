-- Restarts many leases. A lease is never shortened, and a lock never restored.
--
-- KEYS     for each hold: the lock; its fence counter, if it has one; the key of a
--          reader's or writer's lease, or the permits' fences for a permit
-- ARGV     for each hold: holder; attempt; lease in ms; lifetime of the counter in ms,
--          "-" without a counter; and the kind: read, write, permit, or "-" for others
--
-- Returns an array: for each hold 1, 0 if it has ended, or 2 if it was revoked.

local renewed, key = {}, 0

local function next_key()
  key = key + 1
  return KEYS[key]
end

local function extend(name, life)
  local left = redis.call('PTTL', name)
  if left >= 0 and left < tonumber(life) then
    redis.call('PEXPIRE', name, life)
  end
end

-- held_as reports whether the attempt reads or writes, and restarts its lease. A writer
-- has its own lease key while it reads.
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
  extend(own, lease)
  return redis.call('PTTL', own) ~= -2
end

-- extend_permit restarts the lease of a permit, and reports whether it exists.
local function extend_permit(lock, fences, name, lease)
  local deadline = redis.pcall('ZSCORE', lock, name)
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  if type(deadline) ~= 'string' or tonumber(deadline) <= now then
    return false
  end
  -- PEXPIRE comes before ZADD: a server without memory refuses the first write of a
  -- script if that needs memory.
  redis.call('PEXPIRE', lock, math.max(redis.call('PTTL', lock), lease + 1))
  extend(fences, lease + 1)
  redis.call('ZADD', lock, math.max(tonumber(deadline), now + lease * 1000), name)
  return true
end

-- was_revoked reports whether an operator took the lock from this attempt.
local function was_revoked(lock, holder, attempt)
  local name = string.find(lock, '{', 1, true) and lock or '{' .. lock .. '}'
  return redis.pcall('SISMEMBER', 'interlock_revoked:' .. name, holder .. '/' .. attempt) == 1
end

for i = 1, #ARGV, 5 do
  local holder, attempt, lease, life, kind = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local lock = next_key()
  local counter = life ~= '-' and next_key()

  -- A key of another type must not fail the other renewals.
  local held
  if kind == '-' then
    local seen = redis.pcall('HMGET', lock, holder, 'fence:' .. attempt)
    held = not seen.err and seen[1] and seen[2]
  elseif kind ~= 'permit' then
    held = held_as(kind, lock, holder, attempt, next_key(), lease)
  else
    held = extend_permit(lock, next_key(), holder .. '/' .. attempt, tonumber(lease))
  end

  local answer = 0
  if held then
    answer = 1
    if kind ~= 'permit' then
      extend(lock, lease)
    end
    if counter then
      extend(counter, life)
    end
  elseif was_revoked(lock, holder, attempt) then
    answer = 2
  end
  renewed[#renewed + 1] = answer
end
return renewed
