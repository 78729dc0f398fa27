-- Lines that are kept by arrival, in µs of this server's clock. It stands after
-- line.lua, before the scripts of kinds whose line is not Redisson's.

-- since tells when name came, if it still has its place.
local function since(line, name)
  return keeps(line, name) and tonumber(redis.call('ZSCORE', line.key, name))
end

-- line_up puts name at the end of the first of some lines, which count as one, or
-- keeps its place for as long again.
local function line_up(lines, name, length)
  if not since(lines[1], name) then
    local arrival = now
    for _, line in ipairs(lines) do
      -- Whoever came before did so earlier, whatever the clock says.
      local last = tonumber(redis.call('ZRANGE', line.key, -1, -1, 'WITHSCORES')[2])
      arrival = math.max(arrival, (last or 0) + 1)
    end
    redis.call('ZADD', lines[1].key, arrival, name)
  end
  keep(lines, name, length)
end

-- ahead_of tells how many stand in some lines before name, or at all if it does
-- not.
local function ahead_of(lines, name)
  local arrival, ahead = since(lines[1], name), 0
  for _, line in ipairs(lines) do
    if arrival then
      ahead = ahead + redis.call('ZCOUNT', line.key, '-inf', '(' .. string.format('%.0f', arrival))
    else
      ahead = ahead + redis.call('ZCARD', line.key)
    end
  end
  return ahead
end

-- told_on returns the channel on which to tell that a lock is free: that of the
-- writer who comes first, or else the one that all listen on, who may be Redisson's.
local function told_on(channel, writers, readers)
  if redis.call('EXISTS', writers.key) == 0 then
    return channel
  end
  for _, key in ipairs({writers.key, readers.key, writers.places}) do
    if type(redis.pcall('ZCARD', key)) ~= 'number' then
      return channel -- another kind of thing, which is no reason to keep the lock
    end
  end
  if type(redis.pcall('HLEN', writers.lengths)) ~= 'number' then
    return channel
  end
  local writer, reader = look(writers), look(readers)
  if not writer.first or reader.unsure or reader.first
      and tonumber(redis.call('ZSCORE', readers.key, reader.first)) < tonumber(redis.call('ZSCORE', writers.key, writer.first)) then
    return channel
  end
  return channel .. ':' .. writer.first
end
