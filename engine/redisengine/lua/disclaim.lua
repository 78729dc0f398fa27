-- Abandons a claim that may have been granted and whose work did not begin. It leaves a
-- tombstone that refuses the attempt if it arrives later.
--
-- KEYS  1  the lock entry   2  the result entry
--       3  the channel      4  the attempt's tombstone
-- ARGV  1  the attempt after its length, as in record.lua
--       2  PUBLISH or SPUBLISH
--       3  lifetime of the tombstone in ms
--
-- Returns what settle.lua returns for one claim.

local lock, result, owner = KEYS[1], KEYS[2], ARGV[1]

-- undo deletes the attempt's claim. A claim that took over an unknown outcome leaves
-- that outcome.
local function undo()
  local lock_entry, claim = peek(lock)
  local result_entry, mark = peek(result)
  local record = claim or mark
  if lock_entry == true or result_entry == true then
    return 4
  elseif not record then
    return 2
  elseif record.owner ~= owner then
    return 3
  elseif record.outcome ~= '' then
    return 1
  end
  -- Publish first, as settle.lua does.
  redis.call(ARGV[2], KEYS[3], '0')
  redis.call('DEL', lock)
  if mark and mark.how == 't' then
    redis.call('SET', result, 'u' .. result_entry, 'KEEPTTL')
  elseif mark then
    redis.call('DEL', result)
  end
  return 1
end

local answer = undo()
if answer == 4 then
  return answer
end
-- The tombstone comes last: a server without memory refuses the first write of a script
-- if that needs memory, but no write after one that did not.
redis.call('SET', KEYS[4], '1', 'PX', ARGV[3])
return answer
