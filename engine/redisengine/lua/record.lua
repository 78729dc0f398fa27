-- Shared by the scripts of records.
--
-- A record has two entries, both strings of the same form: the lock entry of a claim,
-- which lasts as long as its lease, and the result entry.
--
--   <outcome>1<how> <fence> <µs> <a>:<attempt><f>:<fingerprint><result>
--
-- outcome      d done, f failed, u unknown, empty while the claim runs
-- 1            the version of the format
-- how          r, or t if the claim took over an unknown outcome
-- fence, µs    16 digits each; µs is when the claim was granted
-- a, f         length in bytes of the attempt and the fingerprint
-- result       the rest of the string
--
-- While a claim runs, the result entry is a copy of the lock entry, which marks that
-- the work began. The owner of the lock entry may overwrite the result entry: the claim
-- was granted only because the result entry was empty or a record.

-- read parses an entry. It returns nil if the string is not one.
local function read(entry)
  local outcome, how, fence, began, start, a, at = string.match(entry, '^([dfu]?)1([rt]) (%d+) (%d+) ()(%d+):()')
  local from = at and #fence == 16 and #began == 16 and at + a
  local f, to = string.match(entry, '^(%d+):()', from or #entry + 1)
  if not from or not f or #entry < to + f - 1 then
    return nil
  end
  return {
    outcome = outcome, how = how, fence = tonumber(fence), began = tonumber(began),
    owner = string.sub(entry, start, from - 1), -- the attempt after its length
    fingerprint = string.sub(entry, to, to + f - 1),
    result = to + f, -- the index of its first byte
  }
end

-- peek returns the entry at a key and the parsed record; nil if there is nothing, and
-- true if there is other data.
local function peek(key)
  local entry = redis.pcall('GET', key)
  if not entry then
    return nil
  end
  local record = type(entry) == 'string' and read(entry)
  if not record then
    return true
  end
  return entry, record
end

-- owned_by reports whether a lock entry belongs to an attempt. The attempt follows the
-- two numbers.
local function owned_by(owner, entry)
  return entry and string.find(entry, owner, 38, true) == 38
end

-- extend makes a key last for at least life ms.
local function extend(key, life)
  local left = redis.call('PTTL', key)
  if left >= 0 and left < tonumber(life) then
    redis.call('PEXPIRE', key, life)
  end
end

-- renew_claim restarts the lease of a claim, and extends the mark that its work began.
local function renew_claim(lock, entry, lease, result, mark, retain)
  extend(lock, lease)
  if retain and mark == entry then
    extend(result, retain)
  elseif retain then
    -- If the server has no memory, or the key has other data, only the lease is renewed.
    redis.pcall('SET', result, entry, 'NX', 'PX', retain)
  end
end
