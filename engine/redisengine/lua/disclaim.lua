-- Undoes a claim whose outcome is unknown and for which no work was begun, and
-- leaves a tombstone by which the attempt is refused should it arrive only now.
--
-- KEYS  1  the lock entry   2  the result entry
--       3  the channel      4  the attempt's tombstone
-- ARGV  1  the attempt, with its length, as in record.lua
--       2  PUBLISH or SPUBLISH
--       3  the tombstone's life in ms
--
-- Returns what settle.lua does for one.

local lock, result, who = KEYS[1], KEYS[2], ARGV[1]

-- undo forgets the beginning of the attempt's work, but not that of others, of
-- which nobody knew what became.
local function undo()
  local lock_entry, claim = peek(lock)
  local result_entry, mark = peek(result)
  local record = claim or mark
  if lock_entry == true or result_entry == true then
    return 4
  elseif not record then
    return 2
  elseif record.who ~= who then
    return 3
  elseif record.outcome ~= '' then
    return 1
  end
  -- Publishes first, as settle.lua does.
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
-- Last, as in abandon.lua: a server without memory refuses no write after the
-- first.
redis.call('SET', KEYS[4], '1', 'PX', ARGV[3])
return answer
