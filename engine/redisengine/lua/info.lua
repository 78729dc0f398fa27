-- Returns what the server says about itself, as the only item of a list.
--
-- ARGV  1  the section of INFO

return {redis.call('INFO', ARGV[1])}
