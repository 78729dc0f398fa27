-- Makes one attempt to acquire a read lock. Readers share the lock, but do not overtake
-- a writer that has waited longer.
--
-- KEYS  1  the lock        2  the queue of readers    3  the queue of writers
--       4  when each reservation expires   5  how long each reservation lasts
-- ARGV  see acquire_common.lua
--       8  the largest number of readers
--       9  see readwrite.lua
--
-- Returns: see acquire_common.lua.

local readers = {key = KEYS[2], expiries = KEYS[4], leases = KEYS[5]}
local writers = {key = KEYS[3], expiries = KEYS[4], leases = KEYS[5]}
local max_readers = tonumber(ARGV[8])

-- at_limit reports whether the lock has as many readers as it may. It first removes
-- readers whose lease has expired.
local function at_limit()
  if redis.call('HLEN', lock) <= max_readers then
    return false
  end
  local names = {}
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    if field ~= 'mode' and string.sub(field, 1, 6) ~= 'fence:' and holder_name(field) == field then
      names[#names + 1] = field
    end
  end
  if #names < max_readers then
    return false
  end
  local expired = {}
  for from = 1, #names, 100 do
    local keys = {}
    for i = from, math.min(from + 99, #names) do
      keys[#keys + 1] = lease_key(names[i], 1)
    end
    if redis.call('EXISTS', unpack(keys)) < #keys and #expired < 200 then
      for i = from, from + #keys - 1 do
        if lease_left(lock, names[i], redis.call('HGET', lock, names[i])) == -2 then
          expired[#expired + 1] = names[i]
          expired[#expired + 1] = 'fence:' .. names[i]
        end
      end
    end
  end
  if #expired > 0 then
    redis.call('HDEL', lock, unpack(expired))
  end
  return #names - #expired / 2 >= max_readers
end

local left = redis.call('PTTL', lock)
local mode, reads, mark, writes, writing, members, expired_writer
if left ~= -2 then
  mode, reads, mark, writes, writing = unpack(redis.call('HMGET', lock,
    'mode', holder, 'fence:' .. holder, holder .. ':write', 'fence:' .. holder .. ':write'))
  members = (mode == 'read' or mode == 'write') and parse_members(lock, (sample_fields(lock)))
  if not members or left == -1 then
    return {4, now}
  end
  expired_writer = mode == 'write' and find_expired_writer(lock, members)
  if expired_writer then
    mode, writes = 'read', false
  end
  if reads and lease_left(lock, holder, reads) == -2 then
    reads, mark = false, false -- expired; its fields are overwritten below
  end
end

local reader, writer, mine
if redis.call('EXISTS', readers.key, writers.key, readers.expiries, readers.leases) > 0 then
  reader, writer = scan_front(readers, holder), scan_front(writers)
  mine = arrival_of(readers, holder)
end
if expired_writer then
  stop_writing(lock, expired_writer)
end

-- A holder that enters again skips the queue.
if not reads and not (mode == 'write' and writes) then
  local before
  if writer then
    prune(readers, reader)
    prune(writers, writer)
    local arrived = writer.first and tonumber(redis.call('ZSCORE', writers.key, writer.first))
    before = writer.incomplete or arrived and not (mine and mine < arrived)
  end
  if mode == 'write' or before then
    if queue_lease > 0 then
      enqueue({readers, writers}, holder, queue_lease)
    end
    local ahead = count_ahead({readers, writers}, holder)
    if mode == 'read' and writer.incomplete then
      left = 1 -- there are more expired waiters to remove: retry soon
    end
    if mode then
      return {0, left, holder_name(members[1]), ahead, now}
    end
    return {0, writer.first and writer.kept_until - ms or 1, holder_name(writer.first), ahead, now}
  end
  if mode and at_limit() then
    return {6, now}
  end
  -- Readers that arrived later overtake writers whose reservation has expired.
  local overtaken = {}
  for _, name in ipairs(writer and writer.expired or {}) do
    if not mine or tonumber(redis.call('ZSCORE', writers.key, name) or 0) < mine then
      overtaken[#overtaken + 1] = name
    end
  end
  remove(writers, overtaken)
end
if reader then
  remove(readers, {holder})
end

local fence = fence_of(mark) or (mode == 'write' and fence_of(writing)) or next_fence()
local count = 1
if not reads then
  redis.call('HSET', lock, 'mode', mode or 'read', holder, 1, 'fence:' .. holder, add_attempt(nil, fence, attempt))
  if mode == 'write' then
    extend_lease(holder .. ':write', left >= 0 and math.max(left, 1) or lease)
  end
elseif has_attempt(mark, attempt) then
  count = tonumber(reads)
else
  count = redis.call('HINCRBY', lock, holder, 1)
  redis.call('HSET', lock, 'fence:' .. holder, add_attempt(mark, fence, attempt))
end
extend_lease(holder, lease)
if left == -2 or left >= 0 and left < tonumber(lease) then
  redis.call('PEXPIRE', lock, lease)
end
return granted(fence, count)
