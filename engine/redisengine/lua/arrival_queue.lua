-- Shared by the kinds whose queues are sorted by arrival, in µs of the server's
-- clock; must follow queue.lua.

-- arrival_of returns when name arrived, if it still has its position.
local function arrival_of(queue, name)
  return has_position(queue, name) and tonumber(redis.call('ZSCORE', queue.key, name))
end

-- enqueue appends name to the first of some queues, or extends its reservation. The
-- queues share one order of arrival.
local function enqueue(queues, name, length)
  if not arrival_of(queues[1], name) then
    local arrival = now
    for _, queue in ipairs(queues) do
      -- A clock that was set back must not put name before earlier waiters.
      local last = tonumber(redis.call('ZRANGE', queue.key, -1, -1, 'WITHSCORES')[2])
      arrival = math.max(arrival, (last or 0) + 1)
    end
    redis.call('ZADD', queues[1].key, arrival, name)
  end
  reserve(queues, name, length)
end

-- count_ahead returns how many waiters of some queues are before name, or all if
-- name has no position.
local function count_ahead(queues, name)
  local arrival, ahead = arrival_of(queues[1], name), 0
  for _, queue in ipairs(queues) do
    if arrival then
      ahead = ahead + redis.call('ZCOUNT', queue.key, '-inf', '(' .. string.format('%.0f', arrival))
    else
      ahead = ahead + redis.call('ZCARD', queue.key)
    end
  end
  return ahead
end

-- wake_channel returns the channel on which to announce that a lock is free: that of
-- the first waiter if it is a writer, otherwise the common one. Redisson subscribes to
-- the common one.
local function wake_channel(channel, writers, readers)
  if redis.call('EXISTS', writers.key) == 0 then
    return channel
  end
  -- A key of another type must not prevent the release.
  for _, key in ipairs({writers.key, readers.key, writers.expiries}) do
    if type(redis.pcall('ZCARD', key)) ~= 'number' then
      return channel
    end
  end
  if type(redis.pcall('HLEN', writers.leases)) ~= 'number' then
    return channel
  end
  local writer, reader = scan_front(writers), scan_front(readers)
  if not writer.first or reader.incomplete or reader.first
      and tonumber(redis.call('ZSCORE', readers.key, reader.first)) < tonumber(redis.call('ZSCORE', writers.key, writer.first)) then
    return channel
  end
  return channel .. ':' .. writer.first
end
