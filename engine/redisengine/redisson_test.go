package redisengine_test

import (
	"fmt"
	"strings"
)

// These scripts do the same as Redisson's lock scripts, in other words. The arguments, their
// order and the replies are those of versions 3.24 to 4.7. They omit the latch that makes a
// repeated unlock harmless, because it is private to one request of one client.
const (
	// KEYS lock; ARGV lease, owner; nil if acquired, else the time left.
	redissonLock = `
local lock, lease, owner = KEYS[1], ARGV[1], ARGV[2]
if redis.call('EXISTS', lock) == 1 and redis.call('HEXISTS', lock, owner) == 0 then
  return redis.call('PTTL', lock)
end
redis.call('HINCRBY', lock, owner, 1)
redis.call('PEXPIRE', lock, lease)
return false`

	// KEYS lock, channel; ARGV message, lease, owner, publish command; nil if the
	// owner does not hold the lock, 0 if it still holds it, 1 if the lock is free now.
	redissonUnlock = `
local lock, lease, owner = KEYS[1], ARGV[2], ARGV[3]
if redis.call('HEXISTS', lock, owner) == 0 then
  return false
end
if redis.call('HINCRBY', lock, owner, -1) > 0 then
  redis.call('PEXPIRE', lock, lease)
  return 0
end
redis.call('DEL', lock)
redis.call(ARGV[4], KEYS[2], ARGV[1])
return 1`

	// KEYS lock, counter; ARGV lease, owner; {-1, token} if acquired, else {the time
	// left, -1}.
	redissonFenced = `
local lock, lease, owner = KEYS[1], ARGV[1], ARGV[2]
if redis.call('EXISTS', lock) == 1 and redis.call('HEXISTS', lock, owner) == 0 then
  return {redis.call('PTTL', lock), -1}
end
local token = redis.call('INCR', KEYS[2])
redis.call('HINCRBY', lock, owner, 1)
redis.call('PEXPIRE', lock, lease)
return {-1, token}`
)

// parseToken reads the reply of redissonFenced.
func parseToken(reply string) (token uint64, err error) {
	text, ok := strings.CutPrefix(reply, "-1\n")
	if !ok {
		return 0, fmt.Errorf("%q is a refusal", reply)
	}
	_, err = fmt.Sscan(text, &token)
	return token, err
}

// Redisson's fair lock. The clock is the client's, and a grant moves the deadlines of the
// waiters behind.
const (
	// KEYS lock, queue, timeouts; ARGV lease, owner, wait, now; nil if acquired, else
	// the time left.
	redissonFair = `
local lock, queue, timeouts = KEYS[1], KEYS[2], KEYS[3]
local lease, owner, wait, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
while true do
  local first = redis.call('LINDEX', queue, 0)
  local deadline = first and tonumber(redis.call('ZSCORE', timeouts, first))
  if not deadline or deadline > now then
    break
  end
  redis.call('ZREM', timeouts, first)
  redis.call('LPOP', queue)
end
local first = redis.call('LINDEX', queue, 0)
if redis.call('EXISTS', lock) == 0 and (not first or first == owner) then
  redis.call('LPOP', queue)
  redis.call('ZREM', timeouts, owner)
  for _, waiter in ipairs(redis.call('ZRANGE', timeouts, 0, -1)) do
    redis.call('ZINCRBY', timeouts, -wait, waiter)
  end
  redis.call('HSET', lock, owner, 1)
  redis.call('PEXPIRE', lock, lease)
  return false
end
if redis.call('HEXISTS', lock, owner) == 1 then
  redis.call('HINCRBY', lock, owner, 1)
  redis.call('PEXPIRE', lock, lease)
  return false
end
if redis.call('ZSCORE', timeouts, owner) then
  return math.max(redis.call('PTTL', lock), 0)
end
local last = redis.call('LINDEX', queue, -1)
local left = redis.call('PTTL', lock)
if last and last ~= owner and redis.call('ZSCORE', timeouts, last) then
  left = tonumber(redis.call('ZSCORE', timeouts, last)) - now
end
if redis.call('ZADD', timeouts, left + wait + now, owner) == 1 then
  redis.call('RPUSH', queue, owner)
end
return left`

	// KEYS lock, queue, timeouts, channel; ARGV message, lease, owner, now, publish
	// command; replies as redissonUnlock.
	redissonFairUnlock = `
local lock, queue, channel, owner = KEYS[1], KEYS[2], KEYS[4], ARGV[3]
if redis.call('HEXISTS', lock, owner) == 0 then
  return false
end
if redis.call('HINCRBY', lock, owner, -1) > 0 then
  redis.call('PEXPIRE', lock, ARGV[2])
  return 0
end
redis.call('DEL', lock)
local first = redis.call('LINDEX', queue, 0)
if first then
  redis.call(ARGV[5], channel .. ':' .. first, ARGV[1])
end
return 1`
)

// Redisson's read/write lock.
const (
	// KEYS lock, timeouts; ARGV lease, owner, writer; nil if acquired, else the time
	// left.
	redissonRead = `
local lock, owner, lease = KEYS[1], ARGV[2], ARGV[1]
local mode = redis.call('HGET', lock, 'mode')
if not mode then
  redis.call('HSET', lock, 'mode', 'read', owner, 1)
  redis.call('SET', KEYS[2] .. ':1', 1, 'PX', lease)
  redis.call('PEXPIRE', lock, lease)
  return false
end
if mode == 'read' or redis.call('HEXISTS', lock, ARGV[3]) == 1 then
  local count = redis.call('HINCRBY', lock, owner, 1)
  redis.call('SET', KEYS[2] .. ':' .. count, 1, 'PX', lease)
  redis.call('PEXPIRE', lock, math.max(redis.call('PTTL', lock), lease))
  return false
end
return redis.call('PTTL', lock)`

	// KEYS lock, channel, timeouts, prefix of all timeouts; ARGV message, owner,
	// publish command; nil if the owner does not hold the lock, 0 if it is still held,
	// 1 if it is free. Every value that is a number is taken for a count.
	redissonReadUnlock = `
local lock, owner = KEYS[1], ARGV[2]
local mode = redis.call('HGET', lock, 'mode')
if not mode or redis.call('HEXISTS', lock, owner) == 0 then
  return false
end
local count = redis.call('HINCRBY', lock, owner, -1)
if count == 0 then
  redis.call('HDEL', lock, owner)
end
redis.call('DEL', KEYS[3] .. ':' .. (count + 1))
if redis.call('HLEN', lock) > 1 then
  local longest = -3
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    local entries = tonumber(redis.call('HGET', lock, field))
    if type(entries) == 'number' then
      for i = entries, 1, -1 do
        longest = math.max(longest, redis.call('PTTL', KEYS[4] .. ':' .. field .. ':rwlock_timeout:' .. i))
      end
    end
  end
  if longest > 0 then
    redis.call('PEXPIRE', lock, longest)
    return 0
  end
  if mode == 'write' then
    return 0
  end
end
redis.call('DEL', lock)
redis.call(ARGV[3], KEYS[2], ARGV[1])
return 1`

	// KEYS lock; ARGV lease, writer; nil if acquired, else the time left.
	redissonWrite = `
local lock, lease, writer = KEYS[1], ARGV[1], ARGV[2]
local mode = redis.call('HGET', lock, 'mode')
if not mode then
  redis.call('HSET', lock, 'mode', 'write', writer, 1)
  redis.call('PEXPIRE', lock, lease)
  return false
end
if mode == 'write' and redis.call('HEXISTS', lock, writer) == 1 then
  redis.call('HINCRBY', lock, writer, 1)
  redis.call('PEXPIRE', lock, redis.call('PTTL', lock) + lease)
  return false
end
return redis.call('PTTL', lock)`

	// KEYS lock, channel; ARGV message, writer, publish command; replies as
	// redissonReadUnlock.
	redissonWriteUnlock = `
local lock, writer = KEYS[1], ARGV[2]
if redis.call('HGET', lock, 'mode') ~= 'write' or redis.call('HEXISTS', lock, writer) == 0 then
  return false
end
if redis.call('HINCRBY', lock, writer, -1) > 0 then
  return 0
end
redis.call('HDEL', lock, writer)
if redis.call('HLEN', lock) == 1 then
  redis.call('DEL', lock)
  redis.call(ARGV[3], KEYS[2], ARGV[1])
else
  redis.call('HSET', lock, 'mode', 'read')
end
return 1`
)
