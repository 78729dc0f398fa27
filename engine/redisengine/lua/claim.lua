-- Makes attempts to get the right to decide what becomes of some keys, each of
-- them for itself, and answers a repeated one as the first.
--
-- KEYS     of n claims: the lock entries, then the result entries, then, only if
--          ARGV[1] is 0, the attempts' tombstones
-- ARGV  1  µs of this server's clock after which the call comes too late; 0 if the
--          tombstones are to tell
--       …  of each claim in turn: what its entry ends with, as record.lua has it,
--          from the attempt's length on; and its terms: lease, ms, retain, ms, and 1
--          if an unknown outcome is to be taken over, or 0, with spaces between them
--
-- Returns, with times in µs of this server's clock:
--   now               all are granted, with now for a fence
--   {now, i, …, j …}  all but the i-th, the j-th …, counted from 1, behind each of
--                     which follows what outline.lua has. Its state may also be 5 if
--                     the claim is granted, with another fence or for the second
--                     time, 6 if it was abandoned, 7 if its fingerprint is not the
--                     record's, and 9 if it is granted over an unknown outcome
--   {now}             too late, all of them: ask again with the tombstones

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local late, n = tonumber(ARGV[1]), (#ARGV - 1) / 2
if late > 0 and now > late then
  return {now}
end

-- Most find nothing, and what they write begins alike.
local text = string.format('%016.0f ', now)
local head = '1r ' .. text .. text

-- Most have the same terms, too: these are those that were read before.
local known_terms = {}
local function terms_of(i)
  local text = ARGV[2 * i + 1]
  local terms = known_terms[text]
  if not terms then
    local lease, retain, take = string.match(text, '^(%d+) (%d+) ([01])$')
    terms = {lease = lease, retain = retain ~= '0' and retain, take = take == '1'}
    known_terms[text] = terms
  end
  return terms
end

-- A new claim needs no look at the lock entry, since SET NX has one. MGET does not
-- tell another kind of thing from nothing, but EXISTS does.
local seen, strangers = {}, redis.call('EXISTS', unpack(KEYS, n + 1, 2 * n))
if strangers > 0 then
  seen = redis.call('MGET', unpack(KEYS, n + 1, 2 * n))
  for i = 1, n do
    strangers = seen[i] and strangers - 1 or strangers
  end
end

-- is_strange tells whether another kind of thing is in the place of the i-th result.
local function is_strange(i)
  return not seen[i] and redis.call('EXISTS', KEYS[n + i]) == 1
end

-- refuse is the answer to a claim that learns nothing of the record.
local function refuse(code)
  return {code, 0, 0, 0, '', ''}
end

-- take_over grants a claim although nobody knows what became of the one before.
local function take_over(i, terms, mine, mark)
  local fence, about = math.max(now, mark.fence + 1), mine.fingerprint
  if about == '' then
    about = mark.fingerprint
  end
  local entry = string.format('1t %016.0f %016.0f ', fence, now) .. mine.who .. #about .. ':' .. about
  redis.call('SET', KEYS[i], entry, 'PX', terms.lease)
  if terms.retain then
    redis.call('SET', KEYS[n + i], entry, 'PX', terms.retain)
  else
    redis.call('DEL', KEYS[n + i])
  end
  return {9, fence, now, tonumber(terms.lease), about, ''}
end

-- answer tells what becomes of the i-th claim, for which there is something.
local function answer(i, terms)
  local lock, result = KEYS[i], KEYS[n + i]
  local mine = read(head .. ARGV[2 * i])
  local lock_entry, claim = peek(lock)
  local result_entry, mark = peek(result)
  if lock_entry == true or result_entry == true then
    return refuse(8)
  end

  local about = (claim or mark).fingerprint
  if about ~= '' and mine.fingerprint ~= '' and about ~= mine.fingerprint then
    return refuse(7)
  elseif claim then
    local granted = claim.who == mine.who
    if granted then
      hold(lock, lock_entry, terms.lease, result, result_entry, terms.retain)
    end
    return outline(not granted and 1 or claim.how == 't' and 9 or 5, claim, lock, '')
  elseif terms.take and not states[mark.outcome] then
    return take_over(i, terms, mine, mark)
  end
  return over(mark, result, result_entry)
end

local others
for i = 1, n do
  local terms, known = terms_of(i)
  if late == 0 and redis.call('EXISTS', KEYS[2 * n + i]) == 1 then
    known = refuse(6)
  else
    local set = not seen[i] and (strangers == 0 or not is_strange(i))
      and redis.pcall('SET', KEYS[i], head .. ARGV[2 * i], 'NX', 'PX', terms.lease)
    if not set or set.err and redis.call('EXISTS', KEYS[i]) == 1 then
      known = answer(i, terms)
    elseif set.err then
      return set -- there is no memory, so nothing was written before
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
