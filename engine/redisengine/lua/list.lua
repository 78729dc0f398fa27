-- Lists keys that may be locks; inspect.lua decides.
--
-- ARGV  1  cursor; 0 to begin
--       2  pattern         3  about how many keys to scan
--
-- Returns an array: the next cursor, 0 at the end; and the keys.

local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local found = {page[1]}
for _, name in ipairs(page[2]) do
  -- A key that the user may not read is not listed.
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
