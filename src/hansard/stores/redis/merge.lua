-- Put merged pages in the place of those that a run begins with, if it still does.
local log, run_first, size = ARGV[2], ARGV[3], tonumber(ARGV[4])

local about, run, pages, index = log_keys(log)
if redis.call('HGET', about, 'run_first') ~= run_first or redis.call('STRLEN', run) < size then
  return 0
end
for at = 5, #ARGV, 3 do
  redis.call('HSET', pages, ARGV[at], ARGV[at + 2])
  redis.call('ZADD', index, ARGV[at + 1], ARGV[at])
end
redis.call('HSET', about, 'run_first', ARGV[#ARGV - 1])
local rest = redis.call('GETRANGE', run, size, -1)
if rest == '' then
  redis.call('UNLINK', run)
else
  redis.call('SET', run, rest)
end
return 1
