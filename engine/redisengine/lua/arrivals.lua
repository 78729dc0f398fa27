-- Lines that are kept by arrival, in µs of this server's clock: sorted sets. It
-- stands after line.lua, before the scripts of kinds whose line is not Redisson's.

-- look surveys one line, and notes since when who comes first has stood in it.
local function look(line, places, leaving)
  local seen = {line = line}
  seen.first, seen.kept, seen.gone = survey(redis.call('ZRANGE', line, 0, window - 1), places, leaving)
  seen.since = seen.first and tonumber(redis.call('ZSCORE', line, seen.first))
  -- With nobody among the first, there may be more to be cleared away.
  seen.unsure = not seen.first and #seen.gone == window
  return seen
end

local function clear(seen, places)
  if #seen.gone > 0 then
    redis.call('ZREM', seen.line, unpack(seen.gone))
    redis.call('ZREM', places, unpack(seen.gone))
  end
end

-- since tells when name came, if its place is still kept.
local function since(line, places, name)
  local kept = tonumber(redis.call('ZSCORE', places, name))
  return kept and kept > ms and tonumber(redis.call('ZSCORE', line, name))
end

local function leave(line, places, name)
  redis.call('ZCARD', line) -- it may be another kind of thing
  redis.call('ZREM', places, name)
  redis.call('ZREM', line, name)
end

-- line_up puts name at the end of the first of some lines, which count as one, or
-- keeps its place for as long again.
local function line_up(lines, places, name, place)
  if not since(lines[1], places, name) then
    local arrival = now
    for _, line in ipairs(lines) do
      -- Whoever came before did so earlier, whatever the clock says.
      local last = tonumber(redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2])
      arrival = math.max(arrival, (last or 0) + 1)
    end
    redis.call('ZADD', lines[1], arrival, name)
  end
  redis.call('ZADD', places, ms + place, name)
  local keep = life(places, place)
  redis.call('PEXPIRE', places, keep)
  for _, line in ipairs(lines) do
    redis.call('PEXPIRE', line, keep)
  end
end

-- ahead tells how many stand in some lines before name, or at all if it does not.
local function ahead_of(lines, places, name)
  local arrival, ahead = since(lines[1], places, name), 0
  for _, line in ipairs(lines) do
    if arrival then
      ahead = ahead + redis.call('ZCOUNT', line, '-inf', '(' .. string.format('%.0f', arrival))
    else
      ahead = ahead + redis.call('ZCARD', line)
    end
  end
  return ahead
end
