-- Shared by the scripts of kinds with a queue; must follow clock.lua.
--
-- A queue is a table of three keys:
--   key       the waiters in order: a list if list is set, otherwise a sorted set
--             by arrival
--   expiries  a sorted set: when each reservation expires, in ms of the server's clock
--   leases    a hash: how long each reservation was requested for, in ms; a waiter
--             of Redisson has none

-- A call reads this many positions, and removes no more than it reads.
local window = 16

-- The longest reservation, in ms. A longer one comes from a client with a wrong clock.
local max_reservation = 86400000

-- How long Redisson reserves a position by default, in ms.
local redisson_wait = 300000

local function exists(queue)
  return redis.call('EXISTS', queue.key, queue.expiries, queue.leases) > 0
end

-- scan_front reads the front of the queue and writes nothing. The waiter named asking
-- keeps its position even if its reservation has expired. The waiter named leaving
-- counts as lost. It returns:
--   first, kept_until  the first waiter, and when its reservation expires
--   expired            waiters before it whose reservation has expired
--   lost               waiters without a reservation, whose reservation expired at least its
--                      length ago, or who are of Redisson and reserve implausibly long
--   shortened          waiters whose reservation is too long because the clock was
--                      set back: name, new expiry, name, …
--   incomplete         all waiters read are expired or lost, and there may be more
local function scan_front(queue, asking, leaving)
  local seen = {expired = {}, lost = {}, shortened = {}}
  local names = redis.call(queue.list and 'LRANGE' or 'ZRANGE', queue.key, 0, window - 1)
  if #names == 0 then
    -- Keys of another type must fail the script before its first write.
    redis.call('ZCARD', queue.expiries)
    redis.call('HLEN', queue.leases)
    return seen
  end
  local expiries = redis.call('ZMSCORE', queue.expiries, unpack(names))
  local leases = redis.call('HMGET', queue.leases, unpack(names))
  local behind_redisson = false -- reservations behind a waiter of Redisson have a margin
  for i, name in ipairs(names) do
    local expiry, length = tonumber(expiries[i]), tonumber(leases[i])
    if expiry and length and expiry > ms + length and not behind_redisson then
      expiry = ms + length
      seen.shortened[#seen.shortened + 1], seen.shortened[#seen.shortened + 2] = name, expiry
    end
    if name == leaving or not expiry or expiry + (length or 0) <= ms or not length and expiry > ms + max_reservation then
      seen.lost[#seen.lost + 1] = name
    elseif not seen.first and expiry <= ms and name ~= asking then
      seen.expired[#seen.expired + 1] = name
    elseif not seen.first then
      seen.first, seen.kept_until = name, expiry
    end
    behind_redisson = behind_redisson or queue.list and not length and expiry and expiry > ms
  end
  seen.incomplete = not seen.first and #names == window
  return seen
end

local function remove(queue, names)
  if #names == 0 then
    return
  end
  redis.call('ZREM', queue.expiries, unpack(names))
  redis.call('HDEL', queue.leases, unpack(names))
  if not queue.list then
    redis.call('ZREM', queue.key, unpack(names))
    return
  end
  for _, name in ipairs(names) do
    redis.call('LREM', queue.key, 0, name)
  end
end

-- prune cleans the queue after scan_front. Expired waiters stay until the next
-- grant, since they may return, unless they fill the whole window.
local function prune(queue, seen)
  for i = 1, #seen.shortened, 2 do
    redis.call('ZADD', queue.expiries, seen.shortened[i + 1], seen.shortened[i])
  end
  remove(queue, seen.lost)
  if seen.incomplete then
    remove(queue, seen.expired)
  end
end

-- extend_queue makes the keys outlive the last reservation: Redisson may have set
-- a shorter expiry.
local function extend_queue(queue)
  local latest = tonumber(redis.call('ZRANGE', queue.expiries, -1, -1, 'WITHSCORES')[2])
  if latest and latest > ms then
    local life = string.format('%.0f', math.min(latest - ms, max_reservation) + 1000)
    for _, key in ipairs({queue.key, queue.expiries, queue.leases}) do
      local left = redis.call('PTTL', key)
      if left >= 0 and left < tonumber(life) then
        redis.call('PEXPIRE', key, life)
      end
    end
  end
end

-- has_position reports whether name may keep its position by returning now.
local function has_position(queue, name)
  local expiry = tonumber(redis.call('ZSCORE', queue.expiries, name))
  local length = tonumber(redis.call('HGET', queue.leases, name))
  return expiry and expiry + (length or 0) > ms
end

-- has_redisson reports whether waiters of Redisson may be in the queue.
local function has_redisson(queue)
  return queue.list and redis.call('ZCARD', queue.expiries) > redis.call('HLEN', queue.leases)
end

-- redisson_margin returns by how many ms a reservation must be extended, given the
-- number of waiters ahead. Redisson sets a waiter's expiry to the expiry of the waiter
-- ahead plus its own wait. When that waiter is served or gives up, Redisson subtracts
-- its wait from every other expiry. Without a margin, our waiters behind it would then
-- lose their positions. Redisson does not store the wait. The margin is an upper bound:
-- the rest of the reservation of the last Redisson waiter ahead, plus Redisson's default wait.
local function redisson_margin(queue, ahead)
  if not has_redisson(queue) then
    return 0
  end
  for last = ahead - 1, 0, -window do
    local names = redis.call('LRANGE', queue.key, math.max(last - window + 1, 0), last)
    local expiries = redis.call('ZMSCORE', queue.expiries, unpack(names))
    local leases = redis.call('HMGET', queue.leases, unpack(names))
    for i = #names, 1, -1 do
      local expiry = tonumber(expiries[i])
      if expiry and not leases[i] and expiry > ms and expiry <= ms + max_reservation then
        return expiry - ms + redisson_wait
      end
    end
  end
  return 0
end

-- trim_redisson shortens the reservations of Redisson's waiters, which have grown
-- because our waiters were ahead of them. Otherwise they would last for hours in a
-- queue that is never empty.
local function trim_redisson(queue)
  if not has_redisson(queue) then
    return
  end
  local names = redis.call('LRANGE', queue.key, 0, window - 1)
  for _, name in ipairs(names) do
    if redis.call('HEXISTS', queue.leases, name) == 0 then
      local expiry = tonumber(redis.call('ZSCORE', queue.expiries, name))
      local excess = expiry and expiry - ms - 2 * redisson_wait or 0
      if excess > redisson_wait then
        local behind = redis.call('ZRANGE', queue.expiries, string.format('%.0f', expiry), '+inf', 'BYSCORE', 'WITHSCORES')
        for i = 1, #behind, 2 do
          redis.call('ZADD', queue.expiries, string.format('%.0f', behind[i + 1] - excess), behind[i])
        end
      end
      return
    end
  end
end

-- reserve keeps the position of name for length ms from now, plus a margin for
-- Redisson. The queues share the keys of their reservations. All of their keys expire
-- in 2 * length ms at the earliest.
local function reserve(queues, name, length, margin)
  local expiries, leases = queues[1].expiries, queues[1].leases
  redis.call('ZADD', expiries, string.format('%.0f', ms + length + (margin or 0)), name)
  redis.call('HSET', leases, name, length)
  local last = tonumber(redis.call('ZRANGE', expiries, -1, -1, 'WITHSCORES')[2])
  local life = math.max(redis.call('PTTL', expiries), 2 * length, math.min(last - ms, max_reservation) + length)
  life = string.format('%.0f', life)
  redis.call('PEXPIRE', expiries, life)
  redis.call('PEXPIRE', leases, life)
  for _, queue in ipairs(queues) do
    redis.call('PEXPIRE', queue.key, life)
  end
end
