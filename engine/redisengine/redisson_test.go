package redisengine_test

import (
	"fmt"
	"strings"
)

// What Redisson's lock scripts do, step by step and in words of our own: the
// arguments, the order of them, and the answers are those of its 3.24 to 4.7.
// Left out is the latch that makes a repeated unlock harmless, which is private
// to one request of one client.
const (
	// KEYS lock; ARGV lease, owner; nil if taken, else the time left.
	redissonLock = `
local lock, lease, owner = KEYS[1], ARGV[1], ARGV[2]
if redis.call('EXISTS', lock) == 1 and redis.call('HEXISTS', lock, owner) == 0 then
  return redis.call('PTTL', lock)
end
redis.call('HINCRBY', lock, owner, 1)
redis.call('PEXPIRE', lock, lease)
return false`

	// KEYS lock, channel; ARGV message, lease, owner, publish command; nil if it
	// is not the owner's, 0 if it still holds, 1 if the lock is free by that.
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

	// KEYS lock, counter; ARGV lease, owner; {-1, token} if taken, else {the time
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

// parseToken reads the answer of redissonFenced.
func parseToken(reply string) (token uint64, err error) {
	text, ok := strings.CutPrefix(reply, "-1\n")
	if !ok {
		return 0, fmt.Errorf("%q is a refusal", reply)
	}
	_, err = fmt.Sscan(text, &token)
	return token, err
}
