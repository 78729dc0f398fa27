-- Ends those of many holds that are simple: entered once, and still there. For
-- the others release.lua is to be asked, one by one.
--
-- KEYS     of each hold in turn: the lock, and its channel
-- ARGV  1  PUBLISH or SPUBLISH
--       …  of each hold in turn: holder, attempt
--
-- Returns:
--   0           all were released, and nobody listens
--   {n, m, …}   for each: 1 and how many listeners were told, or 0 if it is to
--               be asked for by itself

local publish = ARGV[1]
local told, plain = {}, true
for i = 1, #KEYS / 2 do
  local lock, at = KEYS[2 * i - 1], 2 * i
  -- Another kind of thing at one key, or a channel that is forbidden, must not
  -- hold up the others.
  local seen = redis.pcall('HMGET', lock, ARGV[at], 'fence:' .. ARGV[at + 1])
  told[i] = 0
  if not seen.err and seen[1] == '1' and seen[2] then
    local listeners = redis.pcall(publish, KEYS[2 * i], '0')
    if type(listeners) == 'number' then
      told[i] = 1 + listeners
      redis.call('DEL', lock)
    end
  end
  plain = plain and told[i] == 1
end
return plain and 0 or told
