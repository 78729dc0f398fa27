-- Ends claims and says what became of their work, each for itself, and tells who
-- listens.
--
-- KEYS     of n claims: the lock entries, then the result entries, then the channels
-- ARGV  1  PUBLISH or SPUBLISH
--       …  of each claim in turn: attempt; d, f or u, as in record.lua, or - if
--          nothing is to be kept; for how many ms, with @ before it if they count
--          from when the claim was granted; and the result
--
-- Returns:
--   1           all were settled
--   {x, y, …}   for each: 1 if it was settled, now or before; 2 if its lease has run
--               out; 3 if somebody else has claimed the key since; 4 if there is
--               something else than a record; 0 if it is to be asked for by itself

local publish, n = ARGV[1], #KEYS / 3
local seen = redis.call('MGET', unpack(KEYS, 1, 2 * n))
local foreigners = strangers(seen, 1, 2 * n)

local now
-- life is for how many ms the outcome of a claim is kept; not above zero if it is
-- not.
local function life(retain, claim)
  if string.sub(retain, 1, 1) ~= '@' then
    return retain
  end
  if not now then
    local time = redis.call('TIME')
    now = time[1] * 1000000 + time[2]
  end
  local all = tonumber(string.sub(retain, 2))
  return math.min(all, math.ceil((claim.began - now) / 1000 + all))
end

-- ended tells about a claim that is not, or not any more, the attempt's.
local function ended(attempt, claim, mark)
  local record = claim or mark
  if not record then
    return 2
  elseif record.attempt ~= attempt then
    return 3
  end
  return runs(record) and 2 or 1
end

-- is_foreign tells whether an entry is somebody else's.
local function is_foreign(key, entry, record)
  return entry and not record or foreigners > 0 and not entry and redis.call('EXISTS', key) == 1
end

local answers, plain = {}, true
local doomed, kept = {}, {}
for i = 1, n do
  local lock, result, at = KEYS[i], KEYS[n + i], 4 * i - 2
  local lock_entry, result_entry = seen[i], seen[n + i]
  local claim, mark = lock_entry and read(lock_entry), result_entry and read(result_entry)
  local answer = 1
  if is_foreign(lock, lock_entry, claim) or is_foreign(result, result_entry, mark) then
    answer = 4
  elseif not claim or claim.attempt ~= ARGV[at] then
    answer = ended(ARGV[at], claim, mark)
  else
    -- Publishes first: a server that forbids it must not leave half a settlement
    -- behind, and not hold up the others.
    local told = redis.pcall(publish, KEYS[2 * n + i], '0')
    if type(told) == 'number' then
      doomed[#doomed + 1] = lock
      local state, ms = ARGV[at + 1], life(ARGV[at + 2], claim)
      if state ~= '-' and tonumber(ms) > 0 then
        kept[#kept + 1] = {result, '1' .. state .. string.sub(lock_entry, 3) .. ARGV[at + 3], ms}
      elseif mark then
        doomed[#doomed + 1] = result
      end
    elseif n == 1 then
      return told
    else
      answer = 0
    end
  end
  answers[i], plain = answer, plain and answer == 1
end

-- In this order: a server without memory refuses a script's first write if it
-- takes some, but none after one that did not.
if #doomed > 0 then
  redis.call('DEL', unpack(doomed))
end
for _, entry in ipairs(kept) do
  redis.call('SET', entry[1], entry[2], 'PX', entry[3])
end
return plain and 1 or answers
