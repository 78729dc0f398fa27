-- Identifies the server's current run.
--
-- Returns {run_id, uptime_in_seconds, aof_enabled} of INFO.

local function field(section, name)
  return string.match(redis.call('INFO', section), name .. ':([^\r\n]*)') or ''
end

return {field('server', 'run_id'), field('server', 'uptime_in_seconds'), field('persistence', 'aof_enabled')}
