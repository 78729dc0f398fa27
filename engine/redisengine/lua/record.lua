-- What the entries of a record say. It stands before the scripts that read them.
--
-- Of a record there are two, both of them strings: that of the claim, for as long
-- as its lease runs, and that of the result. They are written alike:
--
--   1<state> <fence> <µs> <a> <f> <attempt><fingerprint><result>
--
-- The state is r if the work runs, t if it does although nobody knows what became
-- of it before, d if it was done, f if it failed, and u if nobody knows. µs is
-- when the claim was granted; a and f are how many bytes the attempt and the
-- fingerprint have. The result is whatever follows, to the end.

-- read returns what an entry says, or nothing if it is somebody else's.
local function read(entry)
  local state, fence, began, a, f, at = string.match(entry, '^1([rtdfu]) (%d+) (%d+) (%d+) (%d+) ()')
  if not at or #entry < at + a + f - 1 then
    return nil
  end
  return {
    state = state, fence = tonumber(fence), began = tonumber(began),
    attempt = string.sub(entry, at, at + a - 1),
    fingerprint = string.sub(entry, at + a, at + a + f - 1),
    result = at + a + f, -- where it begins
  }
end

-- runs tells whether a record says that its work runs.
local function runs(record)
  return record.state == 'r' or record.state == 't'
end

-- strangers counts those of some keys at which there is another kind of thing than a
-- string: MGET, which has seen them, does not tell it from nothing.
local function strangers(seen, from, to)
  local count = redis.call('EXISTS', unpack(KEYS, from, to))
  for i = from, to do
    if seen[i] then
      count = count - 1
    end
  end
  return count
end

-- prolong lets a key last for no less than so many ms from now.
local function prolong(key, life)
  local left = redis.call('PTTL', key)
  if left >= 0 and left < tonumber(life) then
    redis.call('PEXPIRE', key, life)
  end
end

-- hold lets a claim's lease begin anew, and keeps the mark of its beginning, which
-- has the text of the lock entry.
local function hold(lock, lock_entry, lease, result, result_entry, retain)
  prolong(lock, lease)
  if retain ~= '0' and result_entry == lock_entry then
    prolong(result, retain)
  elseif retain ~= '0' then
    -- There may be no memory, or another kind of thing.
    redis.pcall('SET', result, lock_entry, 'NX', 'PX', retain)
  end
end
