-- Settles many claims, each independent of the others, and notifies subscribers.
--
-- KEYS     for n claims: the lock entries, then the result entries
-- ARGV  1  PUBLISH or SPUBLISH
--       2  NUMSUB or SHARDNUMSUB; "-" if the number of subscribers is not known
--       3  the settle channel, on which every subscriber to any settlement listens
--       4  the prefix of lock entries; the channel of a record is the settle channel,
--          a colon, and the name after this prefix
--       …  for each claim: the attempt after its length, as in record.lua; its terms:
--          d, f or u, or "-" to store nothing, and the retention in ms, with "@" before
--          it if the retention counts from the grant; and the result
--
-- Returns:
--   1           all claims are settled
--   {x, y, …}   for each claim: 1 settled, now or before; 2 its lease has expired;
--               3 another attempt has claimed the key; 4 other data; 0 the claim needs
--               its own call

local n = #KEYS / 2
local seen = redis.call('MGET', unpack(KEYS, 1, n))

-- Without subscribers, nothing is published. If the user may not run PUBSUB, everything
-- is published.
local numsub = ARGV[2] ~= '-' and redis.pcall('PUBSUB', ARGV[2], ARGV[3])
local unwatched = numsub and not numsub.err and numsub[2] == 0

-- notify announces the i-th settlement. It returns the number of subscribers, or an
-- error.
local function notify(i)
  return redis.pcall(ARGV[1], ARGV[3] .. ':' .. string.sub(KEYS[i], #ARGV[4] + 1), '0')
end

-- Most settlements have the same terms, which are parsed once.
local parsed_terms = {}
local function terms_of(i)
  local text = ARGV[3 * i + 3]
  local terms = parsed_terms[text]
  if not terms then
    local state, from, life = string.match(text, '^(.)(@?)(%d+)$')
    terms = {outcome = state ~= '-' and state, from_start = from == '@', life = life}
    parsed_terms[text] = terms
  end
  return terms
end

-- left_since_grant returns how many of ms, counted from the grant, are left. It is not
-- more than ms if the clock was set back.
local function left_since_grant(entry, ms)
  local time = redis.call('TIME')
  local passed = time[1] * 1000000 + time[2] - tonumber(string.sub(entry, 21, 36))
  return math.max(0, math.min(ms, math.ceil(ms - passed / 1000)))
end

-- unowned returns the answer for a claim that the attempt does not hold.
local function unowned(i, owner)
  local lock_entry, claim = peek(KEYS[i])
  local result_entry, mark = peek(KEYS[n + i])
  if lock_entry == true or result_entry == true then
    return 4
  end
  local record = claim or mark
  if not record then
    return 2
  elseif record.owner ~= owner then
    return 3
  end
  return record.outcome == '' and 2 or 1
end

local answers
local function set_answer(i, answer)
  if not answers then
    answers = {}
    for before = 1, n do
      answers[before] = 1
    end
  end
  answers[i] = answer
end

local deleted, lives = {}, {}
for i = 1, n do
  local owner, terms, entry = ARGV[3 * i + 2], terms_of(i), seen[i]
  -- Publish first: if the user may not publish, the claim must stay as it was, and the
  -- others are settled.
  local notified = owned_by(owner, entry) and (unwatched and 0 or notify(i))
  if not notified then
    set_answer(i, unowned(i, owner))
  elseif type(notified) ~= 'number' then
    if n == 1 then
      return notified
    end
    set_answer(i, 0)
  else
    deleted[#deleted + 1] = KEYS[i]
    local life = terms.from_start and left_since_grant(entry, tonumber(terms.life)) or terms.life
    if terms.outcome and life ~= 0 then
      lives[i] = life
    else
      deleted[#deleted + 1] = KEYS[n + i]
    end
  end
end

-- DEL comes before SET: a server without memory refuses the first write of a script if
-- that needs memory, but no write after one that did not.
if deleted[1] then
  redis.call('DEL', unpack(deleted))
end
for i, life in pairs(lives) do
  redis.call('SET', KEYS[n + i], terms_of(i).outcome .. seen[i] .. ARGV[3 * i + 4], 'PX', life)
end
return answers or 1
