-- What the entries of a record say. It stands before the scripts that read them.
--
-- Of a record there are two, both of them strings: that of the claim, for as long
-- as its lease runs, and that of the result. They are written alike:
--
--   <outcome>1<how> <fence> <µs> <a>:<attempt><f>:<fingerprint><result>
--
-- The outcome is d if the work was done, f if it failed, u if nobody knows, and
-- missing before that. 1 is the version. How is r, or t if nobody knew what became
-- of the claim before. µs is when the claim was granted; both numbers have 16
-- digits. a and f are how many bytes the attempt and the fingerprint have. The
-- result is whatever follows.
--
-- While a claim runs, the result entry is but a mark that it began: it has the text
-- of the lock entry. Who has the lock entry found the place of the result free, or
-- with a record in it, and may write there.

-- read returns what an entry says, or nothing if it is somebody else's.
local function read(entry)
  local outcome, how, fence, began, start, a, at = string.match(entry, '^([dfu]?)1([rt]) (%d+) (%d+) ()(%d+):()')
  local from = at and #fence == 16 and #began == 16 and at + a
  local f, to = string.match(entry, '^(%d+):()', from or #entry + 1)
  if not from or not f or #entry < to + f - 1 then
    return nil
  end
  return {
    outcome = outcome, how = how, fence = tonumber(fence), began = tonumber(began),
    who = string.sub(entry, start, from - 1), -- the attempt, with its length
    fingerprint = string.sub(entry, to, to + f - 1),
    result = to + f, -- where it begins
  }
end

-- peek returns the entry at a key and what it says, nothing if there is none, and
-- true if there is something else.
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

-- has tells whether who has the claim that a lock entry is of.
local function has(who, entry)
  return entry and string.find(entry, who, 38, true) == 38
end

-- prolong lets a key last for no less than so many ms from now.
local function prolong(key, life)
  local left = redis.call('PTTL', key)
  if left >= 0 and left < tonumber(life) then
    redis.call('PEXPIRE', key, life)
  end
end

-- hold lets a claim's lease begin anew, and keeps the mark of its beginning if that
-- is to be retained.
local function hold(lock, entry, lease, result, mark, retain)
  prolong(lock, lease)
  if retain and mark == entry then
    prolong(result, retain)
  elseif retain then
    -- There may be no memory, or another kind of thing.
    redis.pcall('SET', result, entry, 'NX', 'PX', retain)
  end
end
