-- Shared by acquire.lua and acquire_fair.lua; must follow acquire_common.lua.
--
-- An exclusive or fair lock is a hash: <holder> with its number of entries, and
-- fence:<attempt> with the fence of each entry.

local mark = 'fence:' .. attempt

-- read_lock returns nil if the key is not an exclusive lock, and otherwise
--   count, entry   the caller's entries and the fence of this attempt, or false
--   other, fence   a holder and a fence of the lock
local function read_lock(left)
  local seen = redis.call('HMGET', lock, holder, mark, 'mode')
  if seen[3] then
    return nil
  end
  local found = {count = seen[1], entry = seen[2]}
  -- Only the first fields are read: a hash that is not a lock may have millions.
  local fields = redis.call('HSCAN', lock, 0, 'COUNT', 16)[2]
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 6) == 'fence:' then
      found.fence = tonumber(fields[i + 1])
    elseif string.find(fields[i + 1], '^[1-9]%d*$') and (left >= 0 or string.find(fields[i], ':', 1, true)) then
      found.other = fields[i]
    else
      return nil
    end
  end
  return (found.count or found.other or found.fence) and found
end

-- take grants a free lock.
local function take()
  local fence = next_fence()
  redis.call('HSET', lock, holder, 1, mark, string.format('%.0f', fence))
  redis.call('PEXPIRE', lock, lease)
  return granted(fence, 1)
end

-- enter grants the lock to its holder again, or repeats the answer to an attempt that
-- has entered before.
local function enter(found, left)
  local count, fence = tonumber(found.count), tonumber(found.entry)
  if not fence then
    count = redis.call('HINCRBY', lock, holder, 1)
    fence = found.fence or next_fence()
    redis.call('HSET', lock, mark, string.format('%.0f', fence))
  end
  if left >= 0 and left < tonumber(lease) then
    redis.call('PEXPIRE', lock, lease)
  end
  return {1, fence, count, now}
end
