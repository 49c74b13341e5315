-- Give some conversations by name, from one bound up to another: name, revision and metadata.
local reply = {}
local names = redis.call('ZRANGEBYLEX', PREFIX .. 'names', ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])
for _, name in ipairs(names) do
  local there = redis.call('HMGET', key('c', name), 'incarnation', 'seq', 'metadata')
  reply[#reply + 1] = name
  reply[#reply + 1] = there[1]
  reply[#reply + 1] = tonumber(there[2])
  reply[#reply + 1] = there[3] or ''
end
return reply
