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
  local one
  if sort == 'hash' then
    one = redis.pcall('HRANDFIELD', name, 1)[1]
  elseif sort == 'zset' then
    one = redis.pcall('ZRANGE', name, 0, 0)[1]
  end
  if one and (one == 'mode' or string.sub(one, 1, 6) == 'fence:' or is_permit(one)
      or is_holder((string.gsub(one, ':write$', '')))) then
    found[#found + 1] = name
  end
end
return found
