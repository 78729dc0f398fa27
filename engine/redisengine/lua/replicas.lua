-- Counts the replicas that are online.
--
-- KEYS  1  any key of the server
--
-- Returns their number.

local info = redis.call('INFO', 'replication')
return select(2, string.gsub(info, 'state=online', ''))
