-- Finds names of keys that may be locks. What they are, inspect.lua tells.
--
-- ARGV  1  where to go on; 0 at first
--       2  a pattern       3  how many keys to look at, about
--
-- Returns an array: where to go on, 0 at the end; and the names.

local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local found = {page[1]}
for _, name in ipairs(page[2]) do
  -- A user who may not look at a key has no lock there.
  local sort = redis.pcall('TYPE', name).ok
  local some = {}
  if sort == 'hash' then
    some = redis.pcall('HRANDFIELD', name, 4)
  elseif sort == 'zset' then
    some = redis.pcall('ZRANGE', name, 0, 0)
  end
  for _, one in ipairs(some) do
    if one == 'mode' or string.sub(one, 1, 6) == 'fence:' or string.find(one, './.') or is_holder(one) then
      found[#found + 1] = name
      break
    end
  end
end
return found
