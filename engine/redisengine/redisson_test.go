package redisengine_test

import (
	"fmt"
	"strings"
)

// The lock scripts of Redisson 4.7, less the latch that makes a repeated unlock
// harmless: it is private to one request of one client.
const (
	redissonLock = `if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then
  redis.call('hincrby', KEYS[1], ARGV[2], 1);
  redis.call('pexpire', KEYS[1], ARGV[1]);
  return nil;
end;
return redis.call('pttl', KEYS[1]);`

	redissonUnlock = `if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then return nil; end;
local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1);
if (counter > 0) then
  redis.call('pexpire', KEYS[1], ARGV[2]);
  return 0;
else
  redis.call('del', KEYS[1]);
  redis.call(ARGV[4], KEYS[2], ARGV[1]);
  return 1;
end;`

	redissonFenced = `if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then
  redis.call('incr', KEYS[2]);
  redis.call('hincrby', KEYS[1], ARGV[2], 1);
  redis.call('pexpire', KEYS[1], ARGV[1]);
  return {-1, redis.call('get', KEYS[2])};
end;
return {redis.call('pttl', KEYS[1]), -1};`
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
