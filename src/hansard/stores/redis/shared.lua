-- What all scripts of the store share; put before each of them.
--
--   PREFIX c:NAME       a conversation: head, incarnation, seq, spans, its log, what it stems from
--                       (parents), where it parted (forked), its lease and its metadata
--   PREFIX names        the names of all conversations, in order
--   PREFIX log:ID       a log: whose it is, and where its run begins
--   PREFIX run:ID       its run: the pages that are not merged yet, one after the other
--   PREFIX pages:ID     its merged pages, by their first entry
--   PREFIX index:ID     the first entries of these, by what follows the last
--   PREFIX turns:ID     where turns begin, by a digest of their ids
--   PREFIX forks:ID     the logs that stem from it, by where they parted
--
-- A page has a header of 17 bytes: its first entry, the one that follows, the lengths of its meta
-- and its body, and marks.

local PREFIX = ARGV[1]

local function key(kind, id)
  return PREFIX .. kind .. ':' .. id
end

local function log_keys(log)
  return key('log', log), key('run', log), key('pages', log), key('index', log),
    key('turns', log), key('forks', log)
end

-- The logs that a conversation's entries are in, the eldest first: {log, first, until}.
local function logs_of(conversation)
  local fields = redis.call('HMGET', conversation, 'parents', 'log', 'forked')
  local logs = {}
  for log, first, ending in string.gmatch(fields[1] or '', '(%S+) (%d+) (%d+);') do
    logs[#logs + 1] = {log, tonumber(first), tonumber(ending)}
  end
  logs[#logs + 1] = {fields[2], tonumber(fields[3] or 0), math.huge}
  return logs
end

-- Add to a reply the pages of a log that have entries from one up to another; each with these.
local function collect(reply, log, from, ending)
  local index = redis.call('ZRANGEBYSCORE', key('index', log), '(' .. from, '+inf')
  local found = {}
  for _, first in ipairs(index) do
    if tonumber(first) >= ending then
      break
    end
    found[#found + 1] = redis.call('HGET', key('pages', log), first)
  end
  local run_first = redis.call('HGET', key('log', log), 'run_first')
  if run_first and tonumber(run_first) < ending then
    local run = redis.call('GET', key('run', log))
    if run then
      found[#found + 1] = run
    end
  end
  for _, pages in ipairs(found) do
    reply[#reply + 1] = from
    reply[#reply + 1] = ending
    reply[#reply + 1] = pages
  end
end

local function now_us()
  local now = redis.call('TIME')
  return now[1] * 1000000 + now[2]
end

-- Take, hold on to or let go of a lease. Gives its fence, or nil and why not.
local function held(conversation, owner, ttl_us, fence)
  local lease = redis.call('HMGET', conversation, 'fence', 'owner', 'lease_until')
  local known = tonumber(lease[1] or 0)
  local now = now_us()
  local free = tonumber(lease[3] or 0) <= now
  if fence == '' then
    if not free and lease[2] ~= owner then
      return nil, {'busy', lease[2]}
    end
    known = known + 1
  elseif free or known ~= tonumber(fence) or lease[2] ~= owner then
    return nil, {'lost'}
  elseif tonumber(ttl_us) == 0 then
    redis.call('HSET', conversation, 'owner', '', 'lease_until', 0)
    return 0
  end
  local ending = string.format('%.0f', now + ttl_us)
  redis.call('HSET', conversation, 'fence', known, 'owner', owner, 'lease_until', ending)
  return known
end

