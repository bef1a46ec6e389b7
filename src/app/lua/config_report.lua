#!lua
-- config_report: an instance says which config it runs, or leaves.
-- KEYS    1: a sorted set: instance -> ms of its last report · 2: a hash: instance -> the report
-- ARGV    1: the instance · 2: its report; empty: it leaves · 3: how many ms a report is kept
-- Reply   how many instances are known
-- Why     by Redis' clock alone, as heartbeats are. What is further ahead of it than a report is kept was written
--         before the clock stepped back, and goes too. A call drops a bounded number of old ones.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local kept = ARGV[3] + 0
local old = redis.call('ZRANGE', KEYS[1], '-inf', now - kept, 'BYSCORE', 'LIMIT', 0, 100)
local ahead = redis.call('ZRANGE', KEYS[1], now + kept, '+inf', 'BYSCORE', 'LIMIT', 0, 100)
for _, gone in ipairs({ old, ahead }) do
  for _, instance in ipairs(gone) do
    redis.call('ZREM', KEYS[1], instance)
    redis.call('HDEL', KEYS[2], instance)
  end
end
if ARGV[2] == '' then
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
else
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
end
redis.call('PEXPIRE', KEYS[1], kept)
redis.call('PEXPIRE', KEYS[2], kept)
return redis.call('ZCARD', KEYS[1])
