-- Registers a client for a while.
--
-- KEYS  1  the client: a hash
-- ARGV  1  lifetime, ms    2  … fields and values
--
-- Returns 1.

redis.call('HSET', KEYS[1], unpack(ARGV, 2))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
