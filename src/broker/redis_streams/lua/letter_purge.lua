#!lua
-- letter_purge: dead letters of some age go.
-- KEYS    as letter_add
-- ARGV    1: older than this, us · 2: at most so many
-- Reply   how many went
local old = redis.call('ZRANGE', KEYS[2], '-inf', '(' .. ARGV[1], 'BYSCORE', 'LIMIT', 0, ARGV[2])
if #old == 0 then return 0 end
local ids, names = {}, {}
for n, member in ipairs(old) do
  local space = string.find(member, ' ', 1, true)
  ids[n] = '0-' .. string.sub(member, 1, space - 1)
  names[n] = string.sub(member, space + 1)
end
redis.call('XDEL', KEYS[1], unpack(ids))
redis.call('HDEL', KEYS[3], unpack(names))
redis.call('ZREM', KEYS[2], unpack(old))
return #old
