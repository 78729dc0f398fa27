-- The line in which waiters stand. It stands before the scripts of the kinds that
-- have one.
--
-- A line is a table of three keys: key, in which names stand in order, a list if
-- list is set and otherwise a sorted set by arrival; places, a sorted set of the
-- ms of this server's clock until which each place is kept; and lengths, a hash of
-- the ms for which it was asked to be. Who is known to Redisson alone has no length.

-- How many places a call looks at, and so how many it takes away at most.
local window = 16

-- Nobody keeps a place for more than a day, in ms: who seems to has another clock.
local longest = 86400000

local function exists(line)
  return redis.call('EXISTS', line.key, line.places, line.lengths) > 0
end

-- look looks at the first in line, and writes nothing. Who is asking is there,
-- whatever the clock says; who is leaving is not. It returns a table:
--   first, kept  who comes first, and until when its place is kept
--   passed       who stands before it with a place that has run out
--   gone         whose place has run out for as long again, or is not known
--   cut          whose place is kept for too long, since the clock was set back;
--                names and until when, in turn
--   unsure       nobody of those comes first, and there may be more
local function look(line, asking, leaving)
  local seen = {passed = {}, gone = {}, cut = {}}
  local names = redis.call(line.list and 'LRANGE' or 'ZRANGE', line.key, 0, window - 1)
  if #names == 0 then
    redis.call('ZCARD', line.places) -- they may be other kinds of things, which must not
    redis.call('HLEN', line.lengths) -- be found out when something has been written
    return seen
  end
  local places = redis.call('ZMSCORE', line.places, unpack(names))
  local lengths = redis.call('HMGET', line.lengths, unpack(names))
  for i, name in ipairs(names) do
    local kept, length = tonumber(places[i]), tonumber(lengths[i])
    if kept and length and kept > ms + length then
      kept = ms + length
      seen.cut[#seen.cut + 1], seen.cut[#seen.cut + 2] = name, kept
    end
    if name == leaving or not kept or kept + (length or 0) <= ms or not length and kept > ms + longest then
      seen.gone[#seen.gone + 1] = name
    elseif not seen.first and kept <= ms and name ~= asking then
      seen.passed[#seen.passed + 1] = name
    elseif not seen.first then
      seen.first, seen.kept = name, kept
    end
  end
  seen.unsure = not seen.first and #names == window
  return seen
end

-- drop takes some out of the line.
local function drop(line, names)
  if #names == 0 then
    return
  end
  redis.call('ZREM', line.places, unpack(names))
  redis.call('HDEL', line.lengths, unpack(names))
  if not line.list then
    redis.call('ZREM', line.key, unpack(names))
    return
  end
  for _, name in ipairs(names) do
    redis.call('LREM', line.key, 0, name)
  end
end

-- tidy puts the line in order after a look. Those who were passed keep their
-- places until somebody is granted the lock, unless nothing else gets on.
local function tidy(line, seen)
  for i = 1, #seen.cut, 2 do
    redis.call('ZADD', line.places, seen.cut[i + 1], seen.cut[i])
  end
  drop(line, seen.gone)
  if seen.unsure then
    drop(line, seen.passed)
  end
end

-- outlast lets the keys of a line that somebody stands in last no shorter than its
-- places: others may have come who let them last no longer.
local function outlast(line)
  local latest = tonumber(redis.call('ZRANGE', line.places, -1, -1, 'WITHSCORES')[2])
  if latest and latest > ms then
    local life = string.format('%.0f', math.min(latest - ms, longest) + 1000)
    for _, key in ipairs({line.key, line.places, line.lengths}) do
      local left = redis.call('PTTL', key)
      if left >= 0 and left < tonumber(life) then
        redis.call('PEXPIRE', key, life)
      end
    end
  end
end

-- keeps tells whether name still has its place, if only by coming back.
local function keeps(line, name)
  local kept = tonumber(redis.call('ZSCORE', line.places, name))
  local length = tonumber(redis.call('HGET', line.lengths, name))
  return kept and kept + (length or 0) > ms
end

-- keep lets the place of name be kept for length ms from now, and the keys of some
-- lines, which share their places, for twice as long at least.
local function keep(lines, name, length)
  local places, lengths = lines[1].places, lines[1].lengths
  redis.call('ZADD', places, ms + length, name)
  redis.call('HSET', lengths, name, length)
  local last = tonumber(redis.call('ZRANGE', places, -1, -1, 'WITHSCORES')[2])
  local life = math.max(redis.call('PTTL', places), 2 * length, math.min(last - ms, longest) + length)
  life = string.format('%.0f', life)
  redis.call('PEXPIRE', places, life)
  redis.call('PEXPIRE', lengths, life)
  for _, line in ipairs(lines) do
    redis.call('PEXPIRE', line.key, life)
  end
end
