-- Ends those of many holds of fair locks that are simple: entered once, still
-- there, and nobody stands in line. For the others release_fair.lua is to be
-- asked, one by one.
--
-- KEYS     of each hold in turn: the lock, its channel, and its queue
-- ARGV  1  PUBLISH or SPUBLISH
--       …  of each hold in turn: holder, attempt
--
-- Returns what release_many.lua does.

local publish = ARGV[1]
local told, plain = {}, true
for i = 1, #KEYS / 3 do
  local lock, at = KEYS[3 * i - 2], 2 * i
  -- Another kind of thing at one key, or a channel that is forbidden, must not
  -- hold up the others.
  local seen = redis.pcall('HMGET', lock, ARGV[at], 'fence:' .. ARGV[at + 1])
  told[i] = 0
  if not seen.err and seen[1] == '1' and seen[2] and redis.call('EXISTS', KEYS[3 * i]) == 0 then
    local listeners = redis.pcall(publish, KEYS[3 * i - 1], '0')
    if type(listeners) == 'number' then
      told[i] = 1 + listeners
      redis.call('DEL', lock)
    end
  end
  plain = plain and told[i] == 1
end
return plain and 0 or told
