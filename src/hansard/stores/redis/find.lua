-- Say where the last turn began that has an id.
local name, turn = ARGV[2], ARGV[3]

local conversation = key('c', name)
if redis.call('EXISTS', conversation) == 0 then
  return -1
end
local logs = logs_of(conversation)
for at = #logs, 1, -1 do
  local found = -1
  for seq in string.gmatch(redis.call('HGET', key('turns', logs[at][1]), turn) or '', '%d+') do
    if tonumber(seq) < logs[at][3] then
      found = tonumber(seq)
    end
  end
  if found >= 0 then
    return found
  end
end
return -1
