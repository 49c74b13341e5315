-- Replace what is known of a conversation.
local conversation = key('c', ARGV[2])
if redis.call('EXISTS', conversation) == 0 then
  return {'missing'}
end
redis.call('HSET', conversation, 'metadata', ARGV[3])
return {'done'}
