-- The line in which waiters stand. It stands before the scripts of the kinds that
-- have one. Until when each place is kept, in ms of this server's clock, is in a
-- sorted set of its own.

-- How many places a call looks at, and so how many it clears away at most.
local window = 16

-- Nobody keeps a place for more than a day, in ms: who seems to has another clock.
local longest = 86400000

-- survey looks at the first in line. It returns who of them comes first and until
-- when its place is kept, and those whose place has ended, or of whom nobody
-- knows. Who is leaving has none.
local function survey(names, places, leaving)
  local first, kept
  local gone, known = {}, {}
  if #names > 0 then
    known = redis.call('ZMSCORE', places, unpack(names))
  else
    redis.call('ZCARD', places) -- it may be another kind of thing: none may be found when something is written
  end
  for i, name in ipairs(names) do
    local deadline = tonumber(known[i])
    if name == leaving or not deadline or deadline <= ms or deadline > ms + longest then
      gone[#gone + 1] = name
    elseif not first then
      first, kept = name, deadline
    end
  end
  return first, kept, gone
end

-- life is how long, in ms, the keys of a line last: no shorter than its places.
local function life(places, place)
  local last = redis.call('ZRANGE', places, -1, -1, 'WITHSCORES')[2]
  local left = math.min((tonumber(last) or ms) - ms, longest)
  return string.format('%.0f', math.max(left, 0) + place)
end
