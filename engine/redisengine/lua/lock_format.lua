-- Shared: how to tell a lock from other data.

-- is_holder reports whether a name is that of a holder: uuid:number.
local function is_holder(name)
  return string.find(name, '^%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x:%d+$')
end

local function holder_of(permit)
  return string.match(permit, '^[^/]*')
end

-- is_permit reports whether a name is that of a permit: holder/attempt. A holder whose
-- name has another form is known by its fence.
local function is_permit(name, fences)
  return string.find(name, './.') and (is_holder(holder_of(name)) or redis.call('HEXISTS', fences, name) == 1)
end
