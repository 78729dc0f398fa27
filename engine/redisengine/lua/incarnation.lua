-- Tells since when the server has kept what it was told.
--
-- Returns {run_id, uptime_in_seconds, aof_enabled}, as INFO has them.

local function field(section, name)
  return string.match(redis.call('INFO', section), name .. ':([^\r\n]*)') or ''
end

return {field('server', 'run_id'), field('server', 'uptime_in_seconds'), field('persistence', 'aof_enabled')}
