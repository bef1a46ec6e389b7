#!lua
-- defer: a fired entry was not handled; it fires again after a delay.
-- KEYS    1: due times
-- ARGV    1: entry id · 2: end of the lease under which it fired, us · 3: delay in us
-- Reply   1: done; 0: the lease is over, or the entry is gone
local time = redis.call('TIME')
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score or tonumber(score) ~= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], 'XX', string.format('%.0f', time[1] * 1000000 + time[2] + ARGV[3]), ARGV[1])
return 1
