-- Delete a conversation, and all that no living fork reaches any more.
local name = ARGV[2]

-- Drop the pages of a log that begin with an entry or later, and the turns that do.
local function cut(log, ending)
  local _, run, pages, index, turns = log_keys(log)
  for _, first in ipairs(redis.call('ZRANGEBYSCORE', index, '(' .. ending, '+inf')) do
    if tonumber(first) >= ending then
      redis.call('HDEL', pages, first)
      redis.call('ZREM', index, first)
    end
  end
  local kept = redis.call('GET', run) or ''
  local at = 1
  while at <= #kept do
    local first, _, meta, body = struct.unpack('>I4I4I4I4', kept, at)
    if first >= ending then
      if at == 1 then
        redis.call('UNLINK', run)
      else
        redis.call('SET', run, string.sub(kept, 1, at - 1))
      end
      break
    end
    at = at + 17 + meta + body
  end
  local known = redis.call('HGETALL', turns)
  for each = 1, #known, 2 do
    local seqs = ''
    for seq in string.gmatch(known[each + 1], '%d+') do
      if tonumber(seq) < ending then
        seqs = seqs .. seq .. ' '
      end
    end
    if seqs == '' then
      redis.call('HDEL', turns, known[each])
    else
      redis.call('HSET', turns, known[each], seqs)
    end
  end
end

-- Drop what nobody reaches of a log, if its conversation was deleted.
local function reap(log)
  local owner = redis.call('HGET', key('log', log), 'name')
  if owner and redis.call('HGET', key('c', owner), 'log') == log then
    return
  end
  local farthest = redis.call('ZREVRANGE', key('forks', log), 0, 0, 'WITHSCORES')
  if farthest[1] then
    cut(log, tonumber(farthest[2]))
  else
    redis.call('UNLINK', log_keys(log))
  end
end

local conversation = key('c', name)
if redis.call('EXISTS', conversation) == 0 then
  return 0
end
local logs = logs_of(conversation)
local own = logs[#logs][1]
redis.call('UNLINK', conversation)
redis.call('ZREM', PREFIX .. 'names', name)
reap(own)
for at = 1, #logs - 1 do
  redis.call('ZREM', key('forks', logs[at][1]), own)
  reap(logs[at][1])
end
return 1
