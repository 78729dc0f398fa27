-- Reads the registrations of some clients.
--
-- KEYS     the clients
--
-- Returns an array: for each client its name, host, process id and start time, or four
-- empty strings.

local known = {}
for _, client in ipairs(KEYS) do
  local seen = redis.pcall('HMGET', client, 'name', 'host', 'pid', 'since')
  for i = 1, 4 do
    known[#known + 1] = not seen.err and seen[i] or ''
  end
end
return known
