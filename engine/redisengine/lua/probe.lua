-- Reports which commands of the other scripts the user may not run, and whether it may
-- not use the channels of clients. Each command is tried in a form that changes nothing,
-- whatever is at the key. No client listens to the channel.
--
-- KEYS     none: the key does not exist, and its slot does not matter
--
-- Returns the names of the denied commands, and the pattern of a denied channel.

local key = 'interlock_probe:{nobody}'
local harmless = {
  {'time'}, {'exists', key}, {'pttl', key}, {'pexpire', key, 'x'}, {'get', key}, {'mget', key},
  {'set', key, '', 'x'}, {'del', key}, {'hset', key, 'a', 'b', 'c'}, {'hmget', key, 'a'}, {'hscan', key, '0'},
  {'hdel', key, 'a'}, {'hincrby', key, 'a', 'x'}, {'hget', key, 'a'}, {'hgetall', key}, {'hexists', key, 'a'},
  {'hkeys', key}, {'hlen', key}, {'hrandfield', key}, {'lrange', key, '0', '0'}, {'lpos', key, 'a'},
  {'llen', key}, {'lindex', key, '0'}, {'lrem', key, '0', 'a'}, {'zadd', key, 'x', 'a'}, {'zrem', key, 'a'},
  {'zscore', key, 'a'}, {'zmscore', key, 'a'}, {'zrange', key, '0', '0'}, {'zcard', key}, {'zcount', key, '0', '0'},
  {'zremrangebyscore', key, 'x', 'x'},
  {'scard', key}, {'sismember', key, 'a'}, {'scan', '0', 'count', '1'}, {'type', key},
  {'pubsub', 'numsub', 'interlock_probe'}, {'publish', 'interlock_client:probe', ''},
}
local denied = {}
for _, command in ipairs(harmless) do
  local answer = redis.pcall(unpack(command))
  local text = type(answer) == 'table' and answer.err or ''
  -- Errors about denied keys have other texts, and are ignored: they depend on the lock.
  if string.find(text, "can't run this command", 1, true) or string.find(text, 'permissions to run', 1, true) then
    denied[#denied + 1] = command[1]
  elseif string.find(text, 'channel', 1, true) then
    denied[#denied + 1] = '&interlock_client:*'
  end
end
return denied
