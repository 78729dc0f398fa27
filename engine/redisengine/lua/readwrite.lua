-- What a read/write lock is: a hash with its mode, read or write; each reader and
-- how often it has entered; the writer, whose name ends in :write, and how often;
-- and for each of them fence:<name> with its fence and its attempts, as in
-- #1700000000000000 attempt attempt. Redisson takes every value that is a number
-- for a count, and this is none.
--
-- A reader's lease is that of a key of its own, with 1 at its end: all entries of
-- a reader share one. Redisson has a key for each entry. A writer's lease is that
-- of the hash; of a writer that reads as well, that of a key like a reader's.
--
-- ARGV  #  what the names of those keys begin with, last

local space = ARGV[#ARGV]

local function timeout(name, entry)
  return space .. ':' .. name .. ':rwlock_timeout:' .. entry
end

-- left_of returns what is left of a lease that has a key, in ms; -2 if it is over.
local function left_of(name, count)
  local left = -2
  for entry = 1, math.min(tonumber(count) or 1, 64) do
    left = math.max(left, redis.call('PTTL', timeout(name, entry)))
  end
  return left
end

-- lasts lets the lease that has a key last for life ms at least.
local function lasts(name, life)
  if redis.call('PTTL', timeout(name, 1)) < tonumber(life) then
    redis.call('SET', timeout(name, 1), '1', 'PX', life)
  end
end

-- members_of returns who is in some fields of a lock: names and counts in turn. It
-- returns nothing if one of the fields is none of a read/write lock: what others
-- keep may have a mode, too. Holders that are not called uuid:number have left
-- their fence.
local function members_of(lock, fields)
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

-- sample returns some of a lock's fields and values: what is no lock may have
-- millions. Fewer than it asked for are all.
local function sample(lock)
  local fields = redis.call('HRANDFIELD', lock, 16, 'WITHVALUES')
  return fields, #fields < 32
end

-- plain returns the holder that a reader or a writer is.
local function plain(name)
  return (string.gsub(name or '', ':write$', ''))
end

-- ran_out returns the writer whose lease is over although the lock is not, since
-- it goes on reading. A writer of Redisson's has but the hash's.
local function ran_out(lock, members)
  local counts, writer = {}, nil
  for i = 1, #members, 2 do
    counts[members[i]] = members[i + 1]
    if plain(members[i]) ~= members[i] then
      writer = members[i]
    end
  end
  if writer and counts[plain(writer)] and left_of(writer, 1) == -2
      and redis.call('HEXISTS', lock, 'fence:' .. writer) == 1 then
    return writer
  end
end

-- stop_writing makes a reader of a writer.
local function stop_writing(lock, writer)
  redis.call('HDEL', lock, writer, 'fence:' .. writer)
  redis.call('DEL', timeout(writer, 1))
  redis.call('HSET', lock, 'mode', 'read')
end

-- through tells whether a hold was begun by this attempt.
local function through(mark, attempt)
  return mark and string.find(mark .. ' ', ' ' .. attempt .. ' ', 1, true)
end

local function without(mark, attempt)
  local from, to = string.find(mark .. ' ', ' ' .. attempt .. ' ', 1, true)
  return (string.gsub(string.sub(mark, 1, from) .. string.sub(mark .. ' ', to + 1), ' $', ''))
end

-- with notes an attempt in a mark, or in a new one.
local function with(mark, fence, attempt)
  return (mark or '#' .. string.format('%.0f', fence)) .. ' ' .. attempt
end

local function fence_of(mark)
  return mark and tonumber(string.match(mark, '^#(%d+)'))
end
