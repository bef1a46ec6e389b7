#!lua
-- heartbeat: one process says that it lives, or leaves, and hears how many live.
-- KEYS    1: a sorted set: process -> ms of its last heartbeat
-- ARGV    1: the process' id · 2: 1 lives, 0 leaves · 3: how many ms a heartbeat counts
-- Reply   how many live
-- Why     by Redis' clock alone: hosts need not agree on the time. What is further ahead of it than a heartbeat
--         counts was written before the clock stepped back, and goes too.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lives = ARGV[3] + 0
if ARGV[2] == '1' then
  redis.call('ZADD', KEYS[1], now, ARGV[1])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - lives)
redis.call('ZREMRANGEBYSCORE', KEYS[1], now + lives, '+inf')
redis.call('PEXPIRE', KEYS[1], lives)
return redis.call('ZCARD', KEYS[1])
