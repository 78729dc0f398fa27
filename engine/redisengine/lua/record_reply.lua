-- Shared by the scripts that report records; must follow record.lua.
--
-- Such a script returns for each record, with times in µs of the server's clock:
--   state, fence, time of the grant, ms left, fingerprint, result
-- The state is 0 without a record, 1 running, 2 done, 3 failed, 4 unknown, and 8 if
-- there is other data.

local states = {d = 2, f = 3}

local function describe(state, record, key, result)
  return {state, record.fence, record.began, redis.call('PTTL', key), record.fingerprint, result}
end

-- describe_settled describes a record without a claim. It reports the result if it is
-- given the entry.
local function describe_settled(record, key, entry)
  local state = states[record.outcome]
  return describe(state or 4, record, key, entry and state and string.sub(entry, record.result) or '')
end

-- look_up describes the record of two entries, followed by the time.
local function look_up(lock, result, with_result)
  local time = redis.call('TIME')
  local lock_entry, claim = peek(lock)
  local result_entry, mark = peek(result)
  local found = {0, 0, 0, 0, '', ''}
  if lock_entry == true or result_entry == true then
    found[1] = 8
  elseif claim then
    found = describe(1, claim, lock, '')
  elseif mark then
    found = describe_settled(mark, result, with_result and result_entry)
  end
  found[7] = time[1] * 1000000 + time[2]
  return found
end
