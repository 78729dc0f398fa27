-- What others are told about a record. It stands before the scripts that tell.
--
-- Such a script returns of each record, with times in µs of this server's clock:
--   state, fence, when it was granted, ms left, fingerprint, result
-- The state is 0 if nothing is known, 1 if the work runs, 2 if it was done, 3 if
-- it failed, 4 if nobody knows, and 8 if there is something else than a record.

local states = {d = 2, f = 3}

local function outline(state, record, key, result)
  return {state, record.fence, record.began, redis.call('PTTL', key), record.fingerprint, result}
end

-- over is what is told about a record without a claim. entry is the text it was
-- read from; nothing if the result is not wanted.
local function over(record, key, entry)
  local state = states[record.outcome]
  return outline(state or 4, record, key, entry and state and string.sub(entry, record.result) or '')
end
