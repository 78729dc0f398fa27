-- What is at a key, as operators see it. It stands before inspect.lua and
-- seize.lua.
--
-- KEYS  1  the lock        2  the channel of an exclusive lock
--       3  the queue of a fair lock     4  until when its places are kept
--       5  the readers in line          6  the writers in line
--       7  the line for permits         8  until when these three's places are kept
--       9  for how long places are kept in all four lines
--      10  the permits' fences
-- ARGV  1  NUMSUB or SHARDNUMSUB, which asks for listeners
--       #  that of readwrite.lua, last
--
-- Returns an array: exclusive, fair, read, write or permit, - if the lock is free
-- and nobody waits, or ? if there is something else; how many listen for an
-- exclusive lock; and of each who holds it or waits, one after the other:
--   holder or waiter, kind, name, count or µs of arrival, fence, ms left

-- Nothing that is a lock has more fields or members, and of those in line so many
-- are told about.
local most, told = 10000, 1000

local lock, fences = KEYS[1], KEYS[10]
local queue = {list = true, key = KEYS[3], places = KEYS[4], lengths = KEYS[9]}
local readers = {key = KEYS[5], places = KEYS[8], lengths = KEYS[9]}
local writers = {key = KEYS[6], places = KEYS[8], lengths = KEYS[9]}
local line = {key = KEYS[7], places = KEYS[8], lengths = KEYS[9]}

local report = {}
local attempts = {} -- those through which the lock is held, as in holder/attempt

local function note(role, kind, name, count, fence, left)
  for _, item in ipairs({role, kind, name, tonumber(count), fence or '0', left}) do
    report[#report + 1] = item
  end
end

-- see_exclusive notes who holds an exclusive or a fair lock, of which there is one.
-- Who has no fence must at least be called like a holder.
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

-- see_readwrite notes who reads and writes.
local function see_readwrite(mode, fields, left)
  local marks = {}
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 6) == 'fence:' then
      marks[string.sub(fields[i], 7)] = fields[i + 1]
    end
  end
  local members = (mode == 'read' or mode == 'write') and members_of(lock, fields) or {}
  if #members == 0 then
    return nil
  end
  local over = ran_out(lock, members)
  for i = 1, #members, 2 do
    local name, holder, kind = members[i], plain(members[i]), 'read'
    local its = left_of(name, members[i + 1])
    if name ~= holder then
      kind, its = 'write', name == over and -2 or its == -2 and left or its
    end
    if its ~= -2 then
      note('holder', kind, holder, members[i + 1], string.match(marks[name] or '', '^#(%d+)'), its)
      for entry in string.gmatch(marks[name] or '', ' (%S+)') do
        attempts[#attempts + 1] = holder .. '/' .. entry
      end
    end
  end
  return over and 'read' or mode
end

-- see_permits notes who has a permit.
local function see_permits(left)
  if left == -1 or redis.call('ZCARD', lock) > most then
    return nil
  end
  local permits = redis.call('ZRANGE', lock, 0, -1, 'WITHSCORES')
  for i = 1, #permits, 2 do
    if not is_permit(permits[i], fences) then
      return nil
    end
  end
  for i = 1, #permits, 2 do
    local its = math.ceil((tonumber(permits[i + 1]) - now) / 1000)
    if its > 0 then
      attempts[#attempts + 1] = permits[i]
      note('holder', 'permit', holder_of(permits[i]), 1, redis.call('HGET', fences, permits[i]), its)
    end
  end
  return 'permit'
end

-- see notes who holds the lock, and returns its kind; nothing if it is none.
local function see()
  local left = redis.call('PTTL', lock)
  if left == -2 then
    return '-'
  end
  local sort = redis.call('TYPE', lock).ok
  if sort == 'zset' then
    return see_permits(left)
  elseif sort ~= 'hash' or redis.call('HLEN', lock) > most then
    return nil
  end
  local fields = redis.call('HGETALL', lock)
  local mode = redis.call('HGET', lock, 'mode')
  if mode then
    return see_readwrite(mode, fields, left)
  end
  return see_exclusive(fields, left)
end

-- await notes those in a line whose place is kept.
local function await(kind, line)
  local names = line.list and redis.call('LRANGE', line.key, 0, told - 1)
    or redis.call('ZRANGE', line.key, 0, told - 1)
  for i, name in ipairs(names) do
    local left = (tonumber(redis.call('ZSCORE', line.places, name)) or 0) - ms
    local length = tonumber(redis.call('HGET', line.lengths, name)) or longest
    if left > 0 and (left <= longest or length < longest) then
      local came = line.list and i or redis.call('ZSCORE', line.key, name)
      note('waiter', kind, kind == 'permit' and holder_of(name) or plain(name), came, '0', math.min(left, length))
    end
  end
end

-- await_all notes who waits, and returns the kind of the first.
local function await_all()
  local before = #report
  await('fair', queue)
  await('read', readers)
  await('write', writers)
  await('permit', line)
  return report[before + 2]
end

local function listeners()
  local answer = redis.pcall('PUBSUB', ARGV[1], KEYS[2])
  return not answer.err and answer[2] or 0
end

-- inspect returns all of it, as above.
local function inspect()
  local kind = see()
  if not kind then
    return {'?', 0}
  end
  local waits = await_all()
  if waits and (kind == '-' or kind == 'exclusive' and waits == 'fair') then
    kind = waits
  end
  table.insert(report, 1, kind)
  table.insert(report, 2, listeners())
  return report
end
