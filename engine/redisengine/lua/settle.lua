-- Ends claims and says what became of their work, each for itself, and tells who
-- listens.
--
-- KEYS     of n claims: the lock entries, then the result entries, then the channels
-- ARGV  1  PUBLISH or SPUBLISH
--       …  of each claim in turn: the attempt, with its length, as in record.lua; d, f
--          or u, or - if nothing is to be kept; for how many ms, with @ before it if
--          they count from when the claim was granted; and the result
--
-- Returns:
--   1           all were settled
--   {x, y, …}   for each: 1 if it was settled, now or before; 2 if its lease has run
--               out; 3 if somebody else has claimed the key since; 4 if there is
--               something else than a record; 0 if it is to be asked for by itself

local publish, n = ARGV[1], #KEYS / 3
local seen = redis.call('MGET', unpack(KEYS, 1, n))

-- since_start is for how many ms an outcome is kept if they count from when the
-- claim was granted; 0 if they are over. The clock may have been set back.
local function since_start(entry, ms)
  local time = redis.call('TIME')
  local passed = time[1] * 1000000 + time[2] - tonumber(string.sub(entry, 21, 36))
  return math.max(0, math.min(ms, math.ceil(ms - passed / 1000)))
end

-- ended tells about a claim that is not, or not any more, the attempt's.
local function ended(i, who)
  local lock_entry, claim = peek(KEYS[i])
  local result_entry, mark = peek(KEYS[n + i])
  if lock_entry == true or result_entry == true then
    return 4
  end
  local record = claim or mark
  if not record then
    return 2
  elseif record.who ~= who then
    return 3
  end
  return runs(record) and 2 or 1
end

local answers
local function note(i, answer)
  if not answers then
    answers = {}
    for before = 1, n do
      answers[before] = 1
    end
  end
  answers[i] = answer
end

local doomed, heads, lives = {}, {}, {}
for i = 1, n do
  local at, entry = 4 * i - 2, seen[i]
  local state, life = ARGV[at + 1], ARGV[at + 2]
  -- Publishes first: a server that forbids it must not leave half a settlement
  -- behind, and not hold up the others.
  local told = has(ARGV[at], entry) and redis.pcall(publish, KEYS[2 * n + i], '0')
  if not told then
    note(i, ended(i, ARGV[at]))
  elseif type(told) ~= 'number' then
    if n == 1 then
      return told
    end
    note(i, 0)
  else
    doomed[#doomed + 1] = KEYS[i]
    if string.byte(life) == 64 then -- @
      life = since_start(entry, tonumber(string.sub(life, 2)))
    end
    if state == '-' or life == 0 then
      doomed[#doomed + 1] = KEYS[n + i]
    else
      heads[i], lives[i] = '1' .. state .. string.sub(entry, 3), life
    end
  end
end

-- In this order: a server without memory refuses a script's first write if it
-- takes some, but none after one that did not.
if doomed[1] then
  redis.call('DEL', unpack(doomed))
end
for i, head in pairs(heads) do
  local result = ARGV[4 * i + 1]
  if #result < 256 then
    redis.call('SET', KEYS[n + i], head .. result, 'PX', lives[i])
  else -- to put together what is so long is what takes the time
    redis.call('SET', KEYS[n + i], head, 'PX', lives[i])
    redis.call('APPEND', KEYS[n + i], result)
  end
end
return answers or 1
