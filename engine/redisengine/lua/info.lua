-- Returns a section of INFO, as the only item of a list.
--
-- ARGV  1  the section

return {redis.call('INFO', ARGV[1])}
