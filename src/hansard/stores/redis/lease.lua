-- Take, hold on to or let go of the lease of a conversation.
local conversation = key('c', ARGV[2])
if redis.call('EXISTS', conversation) == 0 then
  return {'missing'}
end
local fence, refused = held(conversation, ARGV[3], ARGV[4], ARGV[5])
return refused or {'done', fence}
