-- Make a conversation that shares what another one has before an entry.
local name, new, seq = ARGV[2], ARGV[3], tonumber(ARGV[4])
local incarnation, head, spans, log = ARGV[5], ARGV[6], ARGV[7], ARGV[8]

local parent, fork = key('c', name), key('c', new)
local there = redis.call('HMGET', fork, 'incarnation', 'seq', 'forked', 'fork_of')
if there[1] then
  if there[1] == incarnation and tonumber(there[3] or -1) == seq and there[4] == name then
    return {'done'}
  end
  return {'conflict', there[1], tonumber(there[2])}
end
local known = redis.call('HMGET', parent, 'incarnation', 'seq')
if not known[1] then
  return {'missing'}
end
if seq > tonumber(known[2]) then
  return {'beyond', known[1], tonumber(known[2])}
end

local parents = ''
for _, shared in ipairs(logs_of(parent)) do
  if shared[2] < seq then
    local ending = math.min(shared[3], seq)
    parents = parents .. shared[1] .. ' ' .. shared[2] .. ' ' .. ending .. ';'
    redis.call('ZADD', key('forks', shared[1]), ending, log)
  end
end
redis.call('HSET', fork, 'incarnation', incarnation, 'seq', seq, 'head', head, 'spans', spans,
  'log', log, 'parents', parents, 'forked', seq, 'fork_of', name)
redis.call('HSET', key('log', log), 'name', new, 'run_first', seq)
redis.call('ZADD', PREFIX .. 'names', 0, new)
return {'done'}
