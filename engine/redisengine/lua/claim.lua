-- Makes attempts to get the right to decide what becomes of some keys, each of
-- them for itself, and answers a repeated one as the first.
--
-- KEYS     of n claims: the lock entries, then the result entries, then, only if
--          ARGV[1] is 0, the attempts' tombstones
-- ARGV  1  µs of this server's clock after which the call comes too late; 0 if the
--          tombstones are to tell
--       …  of each claim in turn: what its entry ends with, as record.lua has it
--          from a on; lease, ms; retain, ms; and 1 if an unknown outcome is to be
--          taken over, or 0
--
-- Returns, with times in µs of this server's clock:
--   now               all are granted, with now for a fence
--   {now, i, …, j …}  all but the i-th, the j-th …, counted from 1, behind each of
--                     which follows what outline.lua has. Its state may also be 5 if
--                     the claim is granted, with another fence or for the second
--                     time, 6 if it was abandoned, and 7 if its fingerprint is not
--                     the record's
--   {now}             too late, all of them: ask again with the tombstones

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local late, n = tonumber(ARGV[1]), (#ARGV - 1) / 4
if late > 0 and now > late then
  return {now}
end

local seen = redis.call('MGET', unpack(KEYS, 1, 2 * n))

-- Where a lock entry is to be, SET NX notices another kind of thing.
local foreigners = strangers(seen, n + 1, 2 * n)

-- attempt makes the i-th claim, of which these entries are known, and returns what
-- is to be told about it.
local function attempt(i, lock_entry, result_entry)
  local lock, result, at = KEYS[i], KEYS[n + i], 4 * i - 2
  local lease, retain = ARGV[at + 1], ARGV[at + 2]
  local mine = read('1r 0 0 ' .. ARGV[at])
  local claim, mark = lock_entry and read(lock_entry), result_entry and read(result_entry)
  if lock_entry and not claim or result_entry and not mark
      or foreigners > 0 and not result_entry and redis.call('EXISTS', result) == 1 then
    return foreign
  end

  local record = claim or mark or mine
  if mine.fingerprint ~= '' and record.fingerprint ~= '' and mine.fingerprint ~= record.fingerprint then
    return {7, 0, 0, 0, '', ''}
  end
  if claim and claim.attempt == mine.attempt then
    hold(lock, lock_entry, lease, result, result_entry, retain)
    local granted = running(claim, lock)
    granted[1] = 5
    return granted
  elseif claim then
    return running(claim, lock)
  elseif mark and (states[mark.state] < 4 or ARGV[at + 3] == '0') then
    return over(mark, result, result_entry)
  end

  local fence, state, rest = now, 'r', ARGV[at]
  if mark then
    fence, state = math.max(now, mark.fence + 1), 't'
    if mine.fingerprint == '' then
      rest = #mine.attempt .. ' ' .. #mark.fingerprint .. ' ' .. mine.attempt .. mark.fingerprint
    end
  end
  local entry = string.format('1%s %.0f %.0f ', state, fence, now) .. rest
  if not redis.call('SET', lock, entry, 'NX', 'PX', lease) then
    -- Somebody who came along has it, or there is another kind of thing.
    lock_entry = redis.pcall('GET', lock)
    if type(lock_entry) ~= 'string' then
      return foreign
    end
    return attempt(i, lock_entry, redis.call('GET', result))
  end
  if retain ~= '0' then
    redis.call('SET', result, entry, 'PX', retain)
  elseif mark then
    redis.call('DEL', result)
  end
  return {5, fence, now, tonumber(lease), record.fingerprint ~= '' and record.fingerprint or mine.fingerprint, ''}
end

-- Most find nothing. What they write begins alike.
local head = string.format('1r %.0f %.0f ', now, now)
local others
for i = 1, n do
  local at = 4 * i - 2
  local answer
  if late == 0 and redis.call('EXISTS', KEYS[2 * n + i]) == 1 then
    answer = {6, 0, 0, 0, '', ''}
  elseif seen[i] or seen[n + i] or foreigners > 0
      or not redis.call('SET', KEYS[i], head .. ARGV[at], 'NX', 'PX', ARGV[at + 1]) then
    answer = attempt(i, seen[i], seen[n + i])
  elseif ARGV[at + 2] ~= '0' then
    redis.call('SET', KEYS[n + i], head .. ARGV[at], 'PX', ARGV[at + 2])
  end
  if answer then
    others = others or {now}
    others[#others + 1] = i
    for part = 1, 6 do
      others[#others + 1] = answer[part]
    end
  end
end
return others or now
