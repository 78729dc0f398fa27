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

-- For how long Redisson keeps a place by default, in ms.
local theirs = 300000

local function exists(line)
  return redis.call('EXISTS', line.key, line.places, line.lengths) > 0
end

-- look looks at the first in line, and writes nothing. Who is asking is there,
-- whatever the clock says; who is leaving is not. Who stands behind Redisson's has
-- a place that is kept for longer than it asked for; see beyond. It returns a table:
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
  local behind = false -- one of Redisson's
  for i, name in ipairs(names) do
    local kept, length = tonumber(places[i]), tonumber(lengths[i])
    if kept and length and kept > ms + length and not behind then
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
    behind = behind or line.list and not length and kept and kept > ms
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

-- mixed tells whether one of Redisson's may stand in a line beside ours.
local function mixed(line)
  return line.list and redis.call('ZCARD', line.places) > redis.call('HLEN', line.lengths)
end

-- beyond returns for how many ms longer than it asks for a place must be kept that
-- has so many ahead. Redisson adds what each of its own would wait to the place of
-- the one before, whoever that is, and takes it from all others when it is served
-- or gives up. So who stands behind one of those, and whoever follows, would be
-- out of the line with the next of them. How long they have waited is not known;
-- no longer than their places are kept, which is added for that.
local function beyond(line, ahead)
  if not mixed(line) then
    return 0
  end
  for last = ahead - 1, 0, -window do
    local names = redis.call('LRANGE', line.key, math.max(last - window + 1, 0), last)
    local places = redis.call('ZMSCORE', line.places, unpack(names))
    local lengths = redis.call('HMGET', line.lengths, unpack(names))
    for i = #names, 1, -1 do
      local kept = tonumber(places[i])
      if kept and not lengths[i] and kept > ms and kept <= ms + longest then
        return kept - ms + theirs
      end
    end
  end
  return 0
end

-- shorten takes back what the places of Redisson's waiters have grown by, since
-- others of ours stood before them: who is served does not wait any more. Without
-- it they would last for hours in a line that is never empty.
local function shorten(line)
  if not mixed(line) then
    return
  end
  local names = redis.call('LRANGE', line.key, 0, window - 1)
  for _, name in ipairs(names) do
    if redis.call('HEXISTS', line.lengths, name) == 0 then
      local kept = tonumber(redis.call('ZSCORE', line.places, name))
      local excess = kept and kept - ms - 2 * theirs or 0
      if excess > theirs then
        local behind = redis.call('ZRANGE', line.places, string.format('%.0f', kept), '+inf', 'BYSCORE', 'WITHSCORES')
        for i = 1, #behind, 2 do
          redis.call('ZADD', line.places, string.format('%.0f', behind[i + 1] - excess), behind[i])
        end
      end
      return
    end
  end
end

-- keep lets the place of name be kept for length ms from now, and the keys of some
-- lines, which share their places, for twice as long at least. What is more is only
-- for Redisson's reckoning.
local function keep(lines, name, length, more)
  local places, lengths = lines[1].places, lines[1].lengths
  redis.call('ZADD', places, string.format('%.0f', ms + length + (more or 0)), name)
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
