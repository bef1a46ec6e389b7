#!lua
-- letter_remove: one dead letter goes.
-- KEYS    as letter_add
-- ARGV    1: sequence
-- Reply   1: it was there
local id = '0-' .. ARGV[1]
local letter = redis.call('XRANGE', KEYS[1], id, id)[1]
if not letter then return 0 end
local name = letter[2][2]
redis.call('ZREM', KEYS[2], ARGV[1] .. ' ' .. name)
redis.call('HDEL', KEYS[3], name)
redis.call('XDEL', KEYS[1], id)
return 1
