-- Reports whether an attempt was abandoned.
--
-- KEYS  1  the attempt's tombstone
--
-- Returns 1 or 0.

return redis.call('EXISTS', KEYS[1])
