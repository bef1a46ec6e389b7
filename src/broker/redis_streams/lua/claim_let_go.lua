#!lua
-- claim_let_go: one claim ends after a grace.
-- KEYS    as claim_put
-- ARGV    1: id · 2: grace, ms · 3: told to be over for so long, ms
-- Reply   1: it does, 0: it was not there
local time = redis.call('TIME')
local grace = tonumber(ARGV[2])
if not grace then return redis.error_reply('ERR claim_let_go: the grace is no number') end
local size = redis.call('STRLEN', KEYS[1])
redis.call('SET', KEYS[4], '1', 'PX', ARGV[3])
if size == 0 then return 0 end
redis.call('PEXPIRE', KEYS[1], grace)
redis.call('ZADD', KEYS[2], 'XX', time[1] * 1000 + math.floor(time[2] / 1000) + grace, size .. ' ' .. ARGV[1])
return 1
