-- Lets many leases begin anew. No lease is shortened, and no lock comes back.
--
-- KEYS     of each hold in turn: the lock, and its fence counter if it has one
-- ARGV     of each hold in turn: holder, attempt, lease in ms, and the counter's
--          life in ms, or - if it has none
--
-- Returns an array: for each hold 1, or 0 if it is over.

local renewed, key = {}, 0

local function prolong(name, life)
  local left = redis.call('PTTL', name)
  if left >= 0 and left < tonumber(life) then
    redis.call('PEXPIRE', name, life)
  end
end

for i = 1, #ARGV, 4 do
  key = key + 1
  local lock, counter = KEYS[key], nil
  if ARGV[i + 3] ~= '-' then
    key = key + 1
    counter = KEYS[key]
  end

  -- Another kind of thing at one key must not hold up the others.
  local seen = redis.pcall('HMGET', lock, ARGV[i], 'fence:' .. ARGV[i + 1])
  local held = not seen.err and seen[1] and seen[2]
  if held then
    prolong(lock, ARGV[i + 2])
    if counter then
      prolong(counter, ARGV[i + 3])
    end
  end
  renewed[#renewed + 1] = held and 1 or 0
end
return renewed
