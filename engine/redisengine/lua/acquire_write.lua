-- Makes one attempt to acquire a write lock. A writer excludes all others, and does not
-- overtake an earlier waiter.
--
-- KEYS  1  the lock        2  the queue of writers    3  the queue of readers
--       4  when each reservation expires   5  how long each reservation lasts
-- ARGV  see acquire_common.lua
--       8  see readwrite.lua
--
-- Returns: see acquire_common.lua.

local writers = {key = KEYS[2], expiries = KEYS[4], leases = KEYS[5]}
local readers = {key = KEYS[3], expiries = KEYS[4], leases = KEYS[5]}
local name = holder .. ':write'

local left = redis.call('PTTL', lock)
local mode, reads, writes, mark, expired_writer
local other        -- a holder of the lock
local expired = {} -- fields of readers whose lease has expired
if left ~= -2 then
  mode, reads, writes, mark = unpack(redis.call('HMGET', lock, 'mode', holder, name, 'fence:' .. name))
  local fields, all = sample_fields(lock)
  local members = (mode == 'read' or mode == 'write') and parse_members(lock, fields)
  if not members or left == -1 then
    return {4, now}
  end
  expired_writer = mode == 'write' and find_expired_writer(lock, members)
  if expired_writer then
    mode, writes = 'read', false
  end
  if mode == 'read' and reads and lease_left(lock, holder, reads) ~= -2 then
    return {5, now}
  end
  other = mode == 'write' and members[1]
  for i = 1, mode == 'read' and #members or 0, 2 do
    if lease_left(lock, members[i], members[i + 1]) ~= -2 then
      other = members[i]
      break
    end
    expired[#expired + 1] = members[i]
    expired[#expired + 1] = 'fence:' .. members[i]
  end
  if not other then
    -- All readers of the sample have expired. If the lock has more fields, retry soon.
    left, other = all and -2 or 1, members[1]
  elseif mode == 'read' then
    expired = {}
  end
end

local writer, reader -- the fronts of both queues; nil without a queue
if redis.call('EXISTS', writers.key, readers.key, writers.expiries, writers.leases) > 0 then
  writer, reader = scan_front(writers, name), scan_front(readers)
end

if mode == 'write' and writes then
  if writer then
    remove(writers, {name})
  end
  local count, fence = tonumber(writes), fence_of(mark)
  if not has_attempt(mark, attempt) then
    fence = fence or next_fence()
    count = redis.call('HINCRBY', lock, name, 1)
    redis.call('HSET', lock, 'fence:' .. name, add_attempt(mark, fence, attempt))
  end
  if reads then
    extend_lease(name, lease)
  end
  if left >= 0 and left < tonumber(lease) then
    redis.call('PEXPIRE', lock, lease)
  end
  return {1, fence, count, now}
end

if left == -2 and mode then
  redis.call('DEL', lock) -- every lease has expired
elseif expired_writer then
  stop_writing(lock, expired_writer)
elseif #expired > 0 then
  redis.call('HDEL', lock, unpack(expired))
end

local first, kept_until, incomplete -- of both queues
if writer then
  prune(writers, writer)
  prune(readers, reader)
  local one = writer
  local arrived = reader.first and tonumber(redis.call('ZSCORE', readers.key, reader.first))
  if arrived and not (writer.first and tonumber(redis.call('ZSCORE', writers.key, writer.first)) < arrived) then
    one = reader
  end
  first, kept_until, incomplete = one.first, one.kept_until, writer.incomplete or reader.incomplete
end

if left == -2 and (first == name or not first) and not incomplete then
  if writer then
    remove(writers, writer.expired)
    remove(readers, reader.expired)
    remove(writers, {name})
  end
  local fence = next_fence()
  redis.call('HSET', lock, 'mode', 'write', name, 1, 'fence:' .. name, add_attempt(nil, fence, attempt))
  redis.call('PEXPIRE', lock, lease)
  return granted(fence, 1)
end

if queue_lease > 0 then
  enqueue({writers, readers}, name, queue_lease)
end
local ahead = count_ahead({writers, readers}, name)
if left ~= -2 then
  return {0, left, holder_name(other), ahead, now}
end
return {0, first and not incomplete and kept_until - ms or 1, holder_name(first), ahead, now}
