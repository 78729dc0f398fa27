-- What is at a key, as operators see it. It stands before inspect.lua and
-- seize.lua.
--
-- KEYS  1  the lock        2  the channel of an exclusive lock
--       3  the queue of a fair lock     4  until when its places are kept
--       5  the readers in line          6  the writers in line
--       7  the line for permits         8  until when these three's places are kept
--       9  the permits' fences
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

local lock = KEYS[1]

local report = {}
local attempts = {} -- those through which the lock is held, as in holder/attempt

local function note(role, kind, name, count, fence, left)
  for _, item in ipairs({role, kind, name, tonumber(count), fence or '0', left}) do
    report[#report + 1] = item
  end
end

-- see_exclusive notes who holds an exclusive or a fair lock, of which there is one.
local function see_exclusive(fields, left)
  local holder, count, fence
  local entries = {}
  for i = 1, #fields, 2 do
    local field, value = fields[i], fields[i + 1]
    if string.sub(field, 1, 6) == 'fence:' and string.find(value, '^%d+$') then
      fence, entries[#entries + 1] = value, string.sub(field, 7)
    elseif not holder and is_holder(field) and string.find(value, '^[1-9]%d*$') then
      holder, count = field, value
    else
      return nil
    end
  end
  if not holder then
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
  local found = (mode == 'read' or mode == 'write') and readers_in(fields) or {}
  if #found == 0 then
    return nil
  end
  for i = 1, #found, 2 do
    local name, count = found[i], found[i + 1]
    local holder, kind, its = plain(name), 'write', left
    if not is_holder(holder) then
      return nil
    end
    if name == holder then
      kind, its = 'read', left_of(name, count)
    end
    if its ~= -2 then
      note('holder', kind, holder, count, string.match(marks[name] or '', '^#(%d+)'), its)
      for entry in string.gmatch(marks[name] or '', ' (%S+)') do
        attempts[#attempts + 1] = holder .. '/' .. entry
      end
    end
  end
  return mode
end

-- see_permits notes who has a permit.
local function see_permits(left)
  if left == -1 or redis.call('ZCARD', lock) > most then
    return nil
  end
  local permits = redis.call('ZRANGE', lock, 0, -1, 'WITHSCORES')
  for i = 1, #permits, 2 do
    if not is_permit(permits[i]) then
      return nil
    end
  end
  for i = 1, #permits, 2 do
    local its = math.ceil((tonumber(permits[i + 1]) - now) / 1000)
    if its > 0 then
      attempts[#attempts + 1] = permits[i]
      note('holder', 'permit', holder_of(permits[i]), 1, redis.call('HGET', KEYS[9], permits[i]), its)
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

-- await notes those in a line whose place is kept: names and arrivals in turn.
local function await(kind, names, places)
  for i = 1, #names, 2 do
    local left = (tonumber(redis.call('ZSCORE', places, names[i])) or 0) - ms
    if left > 0 and left <= longest then
      note('waiter', kind, kind == 'permit' and holder_of(names[i]) or plain(names[i]), names[i + 1], '0', left)
    end
  end
end

-- await_all notes who waits, and returns the kind of the first.
local function await_all()
  local queue = {}
  for i, name in ipairs(redis.call('LRANGE', KEYS[3], 0, told - 1)) do
    queue[2 * i - 1], queue[2 * i] = name, i
  end
  local before = #report
  await('fair', queue, KEYS[4])
  await('read', redis.call('ZRANGE', KEYS[5], 0, told - 1, 'WITHSCORES'), KEYS[8])
  await('write', redis.call('ZRANGE', KEYS[6], 0, told - 1, 'WITHSCORES'), KEYS[8])
  await('permit', redis.call('ZRANGE', KEYS[7], 0, told - 1, 'WITHSCORES'), KEYS[8])
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
