-- Shared by inspect.lua and force_release.lua. It reports the holders and waiters of a
-- lock to an operator; must follow readwrite.lua.
--
-- KEYS  1  the lock        2  the channel of an exclusive lock
--       3  the queue of a fair lock
--       4  when each reservation in the fair queue expires
--       5  the queue of readers         6  the queue of writers
--       7  the queue for permits
--       8  when each reservation in the queues 5, 6 and 7 expires
--       9  how long each reservation in the queues 3, 5, 6 and 7 lasts
--      10  the permits' fences
-- ARGV  1  NUMSUB or SHARDNUMSUB
--    last  see readwrite.lua
--
-- Returns an array. It begins with the kind and the number of subscribers to KEYS[2]. The
-- kind is exclusive, fair, read, write or permit; "-" for a free lock without waiters; or
-- "?" if the key is not a lock. Six items follow for each holder and each waiter:
--   holder, kind, name, count, fence, ms left of the lease
--   waiter, kind, name, arrival, 0, ms left of the reservation
-- A waiter's arrival is in µs of the server's clock. In a fair queue, which has no times
-- of arrival, it is the position in the queue, from 1.

-- A hash or set with more members is not a lock.
local max_size = 10000

-- The largest number of waiters that are reported for one queue.
local max_waiters = 1000

local lock, fences = KEYS[1], KEYS[10]
local fair_queue = {list = true, key = KEYS[3], expiries = KEYS[4], leases = KEYS[9]}
local readers = {key = KEYS[5], expiries = KEYS[8], leases = KEYS[9]}
local writers = {key = KEYS[6], expiries = KEYS[8], leases = KEYS[9]}
local permit_queue = {key = KEYS[7], expiries = KEYS[8], leases = KEYS[9]}

local report = {}
local attempts = {} -- the attempts that hold the lock, as holder/attempt

-- add appends a holder or a waiter to the report.
local function add(role, kind, name, count, fence, left)
  for _, item in ipairs({role, kind, name, tonumber(count), fence or '0', left}) do
    report[#report + 1] = item
  end
end

-- report_exclusive reports the holder of an exclusive or fair lock, or returns nil for
-- other data. The name of a holder without a fence must have the form uuid:number.
local function report_exclusive(fields, left)
  local holder, count, fence
  local entries = {}
  for i = 1, #fields, 2 do
    local field, value = fields[i], fields[i + 1]
    if string.sub(field, 1, 6) == 'fence:' and string.find(value, '^%d+$') then
      fence, entries[#entries + 1] = value, string.sub(field, 7)
    elseif not holder and string.find(value, '^[1-9]%d*$') then
      holder, count = field, value
    else
      return nil
    end
  end
  if not holder or not fence and not is_holder(holder) then
    return nil
  end
  for _, entry in ipairs(entries) do
    attempts[#attempts + 1] = holder .. '/' .. entry
  end
  add('holder', 'exclusive', holder, count, fence, left)
  return 'exclusive'
end

local function report_readwrite(mode, fields, left)
  local marks = {} -- by name; see readwrite.lua
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 6) == 'fence:' then
      marks[string.sub(fields[i], 7)] = fields[i + 1]
    end
  end
  local members = (mode == 'read' or mode == 'write') and parse_members(lock, fields) or {}
  if #members == 0 then
    return nil
  end
  local expired_writer = find_expired_writer(lock, members)
  for i = 1, #members, 2 do
    local name, holder, kind = members[i], holder_name(members[i]), 'read'
    local rest = lease_left(lock, name, members[i + 1])
    if name ~= holder then
      kind, rest = 'write', name == expired_writer and -2 or rest == -2 and left or rest
    end
    if rest ~= -2 then
      add('holder', kind, holder, members[i + 1], string.match(marks[name] or '', '^#(%d+)'), rest)
      for entry in string.gmatch(marks[name] or '', ' (%S+)') do
        attempts[#attempts + 1] = holder .. '/' .. entry
      end
    end
  end
  return expired_writer and 'read' or mode
end

local function report_permits(left)
  if left == -1 or redis.call('ZCARD', lock) > max_size then
    return nil
  end
  local permits = redis.call('ZRANGE', lock, 0, -1, 'WITHSCORES')
  for i = 1, #permits, 2 do
    if not is_permit(permits[i], fences) then
      return nil
    end
  end
  for i = 1, #permits, 2 do
    local rest = math.ceil((tonumber(permits[i + 1]) - now) / 1000)
    if rest > 0 then
      attempts[#attempts + 1] = permits[i]
      add('holder', 'permit', holder_of(permits[i]), 1, redis.call('HGET', fences, permits[i]), rest)
    end
  end
  return 'permit'
end

-- report_holders reports the holders, and returns the kind of the lock or nil for other
-- data.
local function report_holders()
  local left = redis.call('PTTL', lock)
  if left == -2 then
    return '-'
  end
  local redis_type = redis.call('TYPE', lock).ok
  if redis_type == 'zset' then
    return report_permits(left)
  elseif redis_type ~= 'hash' or redis.call('HLEN', lock) > max_size then
    return nil
  end
  local fields = redis.call('HGETALL', lock)
  local mode = redis.call('HGET', lock, 'mode')
  if mode then
    return report_readwrite(mode, fields, left)
  end
  return report_exclusive(fields, left)
end

-- report_waiters reports the waiters whose reservation has not expired.
local function report_waiters(kind, queue)
  local names = queue.list and redis.call('LRANGE', queue.key, 0, max_waiters - 1)
    or redis.call('ZRANGE', queue.key, 0, max_waiters - 1)
  for i, name in ipairs(names) do
    local left = (tonumber(redis.call('ZSCORE', queue.expiries, name)) or 0) - ms
    local length = tonumber(redis.call('HGET', queue.leases, name)) or max_reservation
    if left > 0 and (left <= max_reservation or length < max_reservation) then
      local arrived = queue.list and i or redis.call('ZSCORE', queue.key, name)
      add('waiter', kind, kind == 'permit' and holder_of(name) or holder_name(name), arrived, '0', math.min(left, length))
    end
  end
end

-- report_all_waiters reports the waiters of all queues, and returns the kind of the first.
local function report_all_waiters()
  local before = #report
  report_waiters('fair', fair_queue)
  report_waiters('read', readers)
  report_waiters('write', writers)
  report_waiters('permit', permit_queue)
  return report[before + 2]
end

local function subscribers()
  local answer = redis.pcall('PUBSUB', ARGV[1], KEYS[2])
  return not answer.err and answer[2] or 0
end

local function inspect()
  local kind = report_holders()
  if not kind then
    return {'?', 0}
  end
  local queued_kind = report_all_waiters()
  if queued_kind and (kind == '-' or kind == 'exclusive' and queued_kind == 'fair') then
    kind = queued_kind
  end
  table.insert(report, 1, kind)
  table.insert(report, 2, subscribers())
  return report
end
