#!lua
-- keep: the leases of fired entries go on.
-- KEYS    1: due times
-- ARGV    1: lease in us · then per entry: id, the end of its lease in us
-- Reply   the new end in us · then per entry: 1: kept, 0: the lease was over, or the entry is gone
local time = redis.call('TIME')
local ends = string.format('%.0f', time[1] * 1000000 + time[2] + ARGV[1])
local reply, kept = {ends}, {}
for i = 2, #ARGV, 2 do
  local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
  local ours = score and tonumber(score) == tonumber(ARGV[i + 1])
  if ours then kept[#kept + 1], kept[#kept + 2] = ends, ARGV[i] end
  reply[#reply + 1] = ours and 1 or 0
end
if #kept > 0 then redis.call('ZADD', KEYS[1], 'XX', unpack(kept)) end
return reply
