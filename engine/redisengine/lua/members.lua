-- Returns what is known about some clients.
--
-- KEYS     the clients
--
-- Returns an array: of each in turn its name, host, number of process and since
-- when, or four times nothing.

local known = {}
for _, client in ipairs(KEYS) do
  local seen = redis.pcall('HMGET', client, 'name', 'host', 'pid', 'since')
  for i = 1, 4 do
    known[#known + 1] = not seen.err and seen[i] or ''
  end
end
return known
