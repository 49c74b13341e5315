-- Append a page to a conversation, if it is where the page begins.
local name, incarnation, first, following = ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local page, head, spans, turn, new_log = ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local owner, ttl_us, fence, run_max = ARGV[11], ARGV[12], ARGV[13], tonumber(ARGV[14])

local conversation = key('c', name)
local there = redis.call("HMGET", conversation, "incarnation", "seq", "log", "forked", "fence",
  'owner')
local log = there[3]
local seq = tonumber(there[2] or 0)
if log then
  if there[1] == incarnation and first < seq and first >= tonumber(there[4] or 0) then
    local reply = {'behind', there[1], seq, tonumber(there[5] or 0), there[6] or ''}
    collect(reply, log, first, first + 1)
    return reply
  end
  if there[1] ~= incarnation or seq ~= first then
    return {'conflict', there[1], seq}
  end
elseif first ~= 0 then
  return {'conflict'}
end

local granted = 0
if ttl_us ~= '' then
  local refused
  granted, refused = held(conversation, owner, ttl_us, fence)
  if not granted then
    return refused
  end
end
if not log then
  log = new_log
  redis.call('HSET', conversation, 'incarnation', incarnation, 'log', log)
  redis.call('HSET', key('log', log), 'name', name, 'run_first', 0)
  redis.call('ZADD', PREFIX .. 'names', 0, name)
end
redis.call('HSET', conversation, 'seq', following, 'head', head, 'spans', spans)
if turn ~= '' then
  local turns = key('turns', log)
  redis.call('HSET', turns, turn, (redis.call('HGET', turns, turn) or '') .. first .. ' ')
end
local size = redis.call('APPEND', key('run', log), page)
if size < run_max then
  return {'done', granted}
end
local run_first = redis.call('HGET', key('log', log), 'run_first')
return {'done', granted, log, run_first, redis.call('GET', key('run', log))}
