-- Makes many claims, each independent of the others. A repeated claim gets the answer of
-- the first.
--
-- KEYS     for n claims: the lock entries, then the result entries, then the attempts'
--          tombstones, only if ARGV[1] is 0
-- ARGV  1  deadline in µs of the server's clock, after which the call is late; 0 to
--          read the tombstones
--       …  for each claim: the end of its entry, from the attempt's length on (see
--          record.lua); and its terms, separated by spaces: lease in ms, retention in
--          ms, and 1 to take over an unknown outcome or 0
--
-- Returns, with times in µs of the server's clock:
--   now               all claims are granted, with now as their fence
--   {now, i, …, j …}  all claims but the i-th, the j-th and so on are granted with now
--                     as their fence. After each index come the items of
--                     record_reply.lua. The state may also be 5 granted with another
--                     fence or granted before, 6 abandoned, 7 another fingerprint, and
--                     9 granted over an unknown outcome
--   {now}             all claims are late: send again with deadline 0

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local deadline, n = tonumber(ARGV[1]), (#ARGV - 1) / 2
if deadline > 0 and now > deadline then
  return {now}
end

-- Most claims find no record. Their entries begin with the same text.
local text = string.format('%016.0f ', now)
local head = '1r ' .. text .. text

-- Most claims have the same terms, which are parsed once.
local parsed_terms = {}
local function terms_of(i)
  local text = ARGV[2 * i + 1]
  local terms = parsed_terms[text]
  if not terms then
    local lease, retain, take = string.match(text, '^(%d+) (%d+) ([01])$')
    terms = {lease = lease, retain = retain ~= '0' and retain, take = take == '1'}
    parsed_terms[text] = terms
  end
  return terms
end

-- SET NX checks the lock entry of a new claim. MGET returns nothing for a key of
-- another type, but EXISTS counts it.
local seen, foreign = {}, redis.call('EXISTS', unpack(KEYS, n + 1, 2 * n))
if foreign > 0 then
  seen = redis.call('MGET', unpack(KEYS, n + 1, 2 * n))
  for i = 1, n do
    foreign = seen[i] and foreign - 1 or foreign
  end
end

-- is_foreign reports whether the i-th result entry is of another type.
local function is_foreign(i)
  return not seen[i] and redis.call('EXISTS', KEYS[n + i]) == 1
end

-- refuse returns an answer without a description of the record.
local function refuse(code)
  return {code, 0, 0, 0, '', ''}
end

-- take_over grants a claim over an unknown outcome.
local function take_over(i, terms, mine, mark)
  local fence, fingerprint = math.max(now, mark.fence + 1), mine.fingerprint
  if fingerprint == '' then
    fingerprint = mark.fingerprint
  end
  local entry = string.format('1t %016.0f %016.0f ', fence, now) .. mine.owner .. #fingerprint .. ':' .. fingerprint
  redis.call('SET', KEYS[i], entry, 'PX', terms.lease)
  if terms.retain then
    redis.call('SET', KEYS[n + i], entry, 'PX', terms.retain)
  else
    redis.call('DEL', KEYS[n + i])
  end
  return {9, fence, now, tonumber(terms.lease), fingerprint, ''}
end

-- answer decides the i-th claim, whose key has data.
local function answer(i, terms)
  local lock, result = KEYS[i], KEYS[n + i]
  local mine = read(head .. ARGV[2 * i])
  local lock_entry, claim = peek(lock)
  local result_entry, mark = peek(result)
  if lock_entry == true or result_entry == true then
    return refuse(8)
  end

  local fingerprint = (claim or mark).fingerprint
  if fingerprint ~= '' and mine.fingerprint ~= '' and fingerprint ~= mine.fingerprint then
    return refuse(7)
  elseif claim then
    local granted = claim.owner == mine.owner
    if granted then
      renew_claim(lock, lock_entry, terms.lease, result, result_entry, terms.retain)
    end
    return describe(not granted and 1 or claim.how == 't' and 9 or 5, claim, lock, '')
  elseif terms.take and not states[mark.outcome] then
    return take_over(i, terms, mine, mark)
  end
  return describe_settled(mark, result, result_entry)
end

local others
for i = 1, n do
  local terms, known = terms_of(i)
  if deadline == 0 and redis.call('EXISTS', KEYS[2 * n + i]) == 1 then
    known = refuse(6)
  else
    local set = not seen[i] and (foreign == 0 or not is_foreign(i))
      and redis.pcall('SET', KEYS[i], head .. ARGV[2 * i], 'NX', 'PX', terms.lease)
    if not set or set.err and redis.call('EXISTS', KEYS[i]) == 1 then
      known = answer(i, terms)
    elseif set.err then
      return set -- out of memory, so no earlier claim has written
    elseif terms.retain then
      redis.call('SET', KEYS[n + i], head .. ARGV[2 * i], 'PX', terms.retain)
    end
  end
  if known then
    others = others or {now}
    others[#others + 1] = i
    for part = 1, 6 do
      others[#others + 1] = known[part]
    end
  end
end
return others or now
