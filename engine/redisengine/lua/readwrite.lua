-- Shared by the scripts of read/write locks; must follow lock_format.lua.
--
-- A read/write lock is a hash:
--   mode          read or write
--   <holder>      a reader's number of entries
--   <holder>:write     the writer's number of entries
--   fence:<name>  a mark for each reader and writer: #<fence> and the attempts, as
--                 in "#1700000000000000 a b"; not a number, because Redisson takes
--                 every number for a count
--
-- A reader's lease is the expiry of a separate key that ends in 1, shared by all its
-- entries; Redisson has a key for each entry. A writer's lease is the expiry of the
-- hash, or of a separate key while the writer also reads.
--
-- ARGV last  the prefix of the separate keys of leases

local key_prefix = ARGV[#ARGV]

local function lease_key(name, entry)
  return key_prefix .. ':' .. name .. ':rwlock_timeout:' .. entry
end

-- lease_left returns the ms left of a lease with a separate key, or -2. Redisson does
-- not always renew the keys of its readers (3.44 to 3.52), only the hash. So a lease
-- without a key and without a fence lasts as long as the hash.
local function lease_left(lock, name, count)
  local left = -2
  for entry = 1, math.min(tonumber(count) or 1, 64) do
    left = math.max(left, redis.call('PTTL', lease_key(name, entry)))
  end
  if left == -2 and redis.call('HEXISTS', lock, 'fence:' .. name) == 0 then
    left = redis.call('PTTL', lock)
  end
  return left
end

-- extend_lease makes a lease with a separate key last for at least life ms.
local function extend_lease(name, life)
  if redis.call('PTTL', lease_key(name, 1)) < tonumber(life) then
    redis.call('SET', lease_key(name, 1), '1', 'PX', life)
  end
end

-- parse_members returns the holders in some fields of a lock: name, count, name, … It
-- returns nil if a field does not belong to a read/write lock: other hashes may have
-- a mode, too. A holder whose name has another form is known by its fence.
local function parse_members(lock, fields)
  local found = {}
  for i = 1, #fields, 2 do
    local field, value = fields[i], fields[i + 1]
    if string.sub(field, 1, 6) == 'fence:' then
      if string.sub(value, 1, 1) ~= '#' then
        return nil
      end
    elseif field ~= 'mode' then
      if not string.find(value, '^[1-9]%d*$')
          or not is_holder((string.gsub(field, ':write$', ''))) and redis.call('HEXISTS', lock, 'fence:' .. field) == 0 then
        return nil
      end
      found[#found + 1] = field
      found[#found + 1] = value
    end
  end
  return found
end

-- sample_fields returns up to 16 fields with their values, and whether these are all:
-- a hash that is not a lock may have millions.
local function sample_fields(lock)
  local fields = redis.call('HRANDFIELD', lock, 16, 'WITHVALUES')
  return fields, #fields < 32
end

-- holder_name returns the holder behind the name of a reader or writer.
local function holder_name(name)
  return (string.gsub(name or '', ':write$', ''))
end

-- find_expired_writer returns the writer if its lease has expired while it still
-- reads. A writer of Redisson has only the lease of the hash.
local function find_expired_writer(lock, members)
  local counts, writer = {}, nil
  for i = 1, #members, 2 do
    counts[members[i]] = members[i + 1]
    if holder_name(members[i]) ~= members[i] then
      writer = members[i]
    end
  end
  if writer and counts[holder_name(writer)] and lease_left(lock, writer, 1) == -2 then
    return writer
  end
end

-- stop_writing turns a writer into a reader.
local function stop_writing(lock, writer)
  redis.call('HDEL', lock, writer, 'fence:' .. writer)
  redis.call('DEL', lease_key(writer, 1))
  redis.call('HSET', lock, 'mode', 'read')
end

local function has_attempt(mark, attempt)
  return mark and string.find(mark .. ' ', ' ' .. attempt .. ' ', 1, true)
end

local function remove_attempt(mark, attempt)
  local from, to = string.find(mark .. ' ', ' ' .. attempt .. ' ', 1, true)
  return (string.gsub(string.sub(mark, 1, from) .. string.sub(mark .. ' ', to + 1), ' $', ''))
end

-- add_attempt returns the mark with one more attempt; without a mark, a new one.
local function add_attempt(mark, fence, attempt)
  return (mark or '#' .. string.format('%.0f', fence)) .. ' ' .. attempt
end

local function fence_of(mark)
  return mark and tonumber(string.match(mark, '^#(%d+)'))
end
