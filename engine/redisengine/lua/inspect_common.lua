-- Shared by inspect.lua and force_release.lua: what a key holds, for operators.
--
-- KEYS  1  the lock        2  the channel of an exclusive lock
--       3  the queue of a fair lock     4  when its reservations expire
--       5  the queue of readers         6  the queue of writers
--       7  the queue for permits        8  when the reservations of these expire
--       9  how long the reservations in all four queues are
--      10  the permits' fences
-- ARGV  1  NUMSUB or SHARDNUMSUB
--       #  see readwrite.lua, last
--
-- Returns an array: the kind, which is exclusive, fair, read, write or permit, - for
-- a free lock without waiters, or ? for other data; the number of subscribers of an
-- exclusive lock; and for each holder and waiter in turn:
--   holder or waiter, kind, name, count or µs of arrival, fence, ms left

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

-- note appends a holder or a waiter to the report.
local function note(role, kind, name, count, fence, left)
  for _, item in ipairs({role, kind, name, tonumber(count), fence or '0', left}) do
    report[#report + 1] = item
  end
end

-- see_exclusive notes the holder of an exclusive or fair lock, or returns nil for other
-- data. The name of a holder without a fence must have the form uuid:number.
local function see_exclusive(fields, left)
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
  note('holder', 'exclusive', holder, count, fence, left)
  return 'exclusive'
end

local function see_readwrite(mode, fields, left)
  local marks = {}
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
      note('holder', kind, holder, members[i + 1], string.match(marks[name] or '', '^#(%d+)'), rest)
      for entry in string.gmatch(marks[name] or '', ' (%S+)') do
        attempts[#attempts + 1] = holder .. '/' .. entry
      end
    end
  end
  return expired_writer and 'read' or mode
end

local function see_permits(left)
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
      note('holder', 'permit', holder_of(permits[i]), 1, redis.call('HGET', fences, permits[i]), rest)
    end
  end
  return 'permit'
end

-- see notes the holders and returns the kind of the lock; nil for other data.
local function see()
  local left = redis.call('PTTL', lock)
  if left == -2 then
    return '-'
  end
  local sort = redis.call('TYPE', lock).ok
  if sort == 'zset' then
    return see_permits(left)
  elseif sort ~= 'hash' or redis.call('HLEN', lock) > max_size then
    return nil
  end
  local fields = redis.call('HGETALL', lock)
  local mode = redis.call('HGET', lock, 'mode')
  if mode then
    return see_readwrite(mode, fields, left)
  end
  return see_exclusive(fields, left)
end

-- note_waiters notes the waiters whose reservation has not expired.
local function note_waiters(kind, queue)
  local names = queue.list and redis.call('LRANGE', queue.key, 0, max_waiters - 1)
    or redis.call('ZRANGE', queue.key, 0, max_waiters - 1)
  for i, name in ipairs(names) do
    local left = (tonumber(redis.call('ZSCORE', queue.expiries, name)) or 0) - ms
    local length = tonumber(redis.call('HGET', queue.leases, name)) or max_reservation
    if left > 0 and (left <= max_reservation or length < max_reservation) then
      local arrived = queue.list and i or redis.call('ZSCORE', queue.key, name)
      note('waiter', kind, kind == 'permit' and holder_of(name) or holder_name(name), arrived, '0', math.min(left, length))
    end
  end
end

-- note_all_waiters notes the waiters of all queues, and returns the kind of the first.
local function note_all_waiters()
  local before = #report
  note_waiters('fair', fair_queue)
  note_waiters('read', readers)
  note_waiters('write', writers)
  note_waiters('permit', permit_queue)
  return report[before + 2]
end

local function subscribers()
  local answer = redis.pcall('PUBSUB', ARGV[1], KEYS[2])
  return not answer.err and answer[2] or 0
end

local function inspect()
  local kind = see()
  if not kind then
    return {'?', 0}
  end
  local queued_kind = note_all_waiters()
  if queued_kind and (kind == '-' or kind == 'exclusive' and queued_kind == 'fair') then
    kind = queued_kind
  end
  table.insert(report, 1, kind)
  table.insert(report, 2, subscribers())
  return report
end
