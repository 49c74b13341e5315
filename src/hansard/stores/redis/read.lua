-- Give a conversation's head, and pages: all that have entries from one on, or else those that the
-- context is made of.
local name, after = ARGV[2], ARGV[3]

local conversation = key('c', name)
local there = redis.call('HMGET', conversation, 'head', 'spans', 'seq')
if not there[1] then
  return {}
end
local logs = logs_of(conversation)
local reply = {there[1]}
local spans = after == '' and there[2] or (after .. ' ' .. there[3] .. ';')
for first, ending in string.gmatch(spans, '(%d+) (%d+);') do
  for _, log in ipairs(logs) do
    local from, to = math.max(tonumber(first), log[2]), math.min(tonumber(ending), log[3])
    if from < to then
      collect(reply, log[1], from, to)
    end
  end
end
return reply
