-- What tells a lock from what others keep. It stands before the scripts that have
-- to know.

-- is_holder tells whether a name is that of a holder: uuid:number.
local function is_holder(name)
  return string.find(name, '^%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x:%d+$')
end

local function holder_of(permit)
  return string.match(permit, '^[^/]*')
end

-- is_permit tells whether a name is that of a permit: holder/attempt. Holders with
-- other names have left their fence.
local function is_permit(name, fences)
  return string.find(name, './.') and (is_holder(holder_of(name)) or redis.call('HEXISTS', fences, name) == 1)
end
