-- Counts the replicas that are in touch with the server.
--
-- KEYS  1  any that the server has
--
-- Returns how many.

local info = redis.call('INFO', 'replication')
return select(2, string.gsub(info, 'state=online', ''))
