-- Ends claims and says what became of their work, each for itself, and tells who
-- listens.
--
-- KEYS     of n claims: the lock entries, then the result entries
-- ARGV  1  PUBLISH or SPUBLISH
--       2  NUMSUB or SHARDNUMSUB, which asks for listeners, or - if nobody knows them
--       3  the lobby: a channel on which everybody is who listens for a settlement
--       4  what the names of lock entries begin with, and behind the lobby's and a
--          colon those of channels go on alike
--       …  of each claim in turn: the attempt, with its length, as in record.lua; its
--          terms: d, f or u, or - if nothing is to be kept, and for how many ms, with
--          @ before them if they count from when the claim was granted; and the result
--
-- Returns:
--   1           all were settled
--   {x, y, …}   for each: 1 if it was settled, now or before; 2 if its lease has run
--               out; 3 if somebody else has claimed the key since; 4 if there is
--               something else than a record; 0 if it is to be asked for by itself

local n = #KEYS / 2
local seen = redis.call('MGET', unpack(KEYS, 1, n))

-- A user who may not ask who listens tells all who might.
local lobby = ARGV[2] ~= '-' and redis.pcall('PUBSUB', ARGV[2], ARGV[3])
local alone = lobby and not lobby.err and lobby[2] == 0

-- tell lets those know who wait for the i-th claim, and returns how many they are,
-- or an error.
local function tell(i)
  return redis.pcall(ARGV[1], ARGV[3] .. ':' .. string.sub(KEYS[i], #ARGV[4] + 1), '0')
end

-- Most have the same terms: these are those that were read before.
local known_terms = {}
local function terms_of(i)
  local text = ARGV[3 * i + 3]
  local terms = known_terms[text]
  if not terms then
    local state, from, life = string.match(text, '^(.)(@?)(%d+)$')
    terms = {outcome = state ~= '-' and state, from_start = from == '@', life = life}
    known_terms[text] = terms
  end
  return terms
end

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
  return record.outcome == '' and 2 or 1
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

local doomed, lives = {}, {}
for i = 1, n do
  local who, terms, entry = ARGV[3 * i + 2], terms_of(i), seen[i]
  -- Publishes first: a server that forbids it must not leave half a settlement
  -- behind, and not hold up the others.
  local told = has(who, entry) and (alone and 0 or tell(i))
  if not told then
    note(i, ended(i, who))
  elseif type(told) ~= 'number' then
    if n == 1 then
      return told
    end
    note(i, 0)
  else
    doomed[#doomed + 1] = KEYS[i]
    local life = terms.from_start and since_start(entry, tonumber(terms.life)) or terms.life
    if terms.outcome and life ~= 0 then
      lives[i] = life
    else
      doomed[#doomed + 1] = KEYS[n + i]
    end
  end
end

-- In this order: a server without memory refuses a script's first write if it
-- takes some, but none after one that did not.
if doomed[1] then
  redis.call('DEL', unpack(doomed))
end
for i, life in pairs(lives) do
  redis.call('SET', KEYS[n + i], terms_of(i).outcome .. seen[i] .. ARGV[3 * i + 4], 'PX', life)
end
return answers or 1
