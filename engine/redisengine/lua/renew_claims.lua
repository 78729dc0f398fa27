-- Restarts the leases of many claims, and extends the marks that their work began.
-- A lease is never shortened, and a claim never restored.
--
-- KEYS     for n claims: the lock entries, then the result entries
-- ARGV     for each claim: the attempt after its length, as in record.lua; lease in ms;
--          retention in ms
--
-- Returns an array: for each claim 1, or 0 if it has ended.

local n = #KEYS / 2
local seen = redis.call('MGET', unpack(KEYS))
local renewed = {}
for i = 1, n do
  local at = 3 * i - 2
  local held = owned_by(ARGV[at], seen[i])
  if held then
    renew_claim(KEYS[i], seen[i], ARGV[at + 1], KEYS[n + i], seen[n + i], ARGV[at + 2] ~= '0' and ARGV[at + 2])
  end
  renewed[i] = held and 1 or 0
end
return renewed
