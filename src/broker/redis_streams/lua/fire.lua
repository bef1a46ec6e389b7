#!lua
-- fire: hands out due entries of one partition, each to one process at a time.
-- KEYS    1: due times · 2: payloads
-- ARGV    1: at most so many · 2: lease in us
-- Reply   seconds and us of Redis' time · end of the lease in us · the earliest time in the set now (empty: none) ·
--         then per entry: id, payload
-- Why     a lease is the entry's own due time moved to the lease's end: a process that dies with it does nothing, and
--         it fires again.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local lease_end = string.format('%.0f', now + ARGV[2])
local reply = {time[1], time[2], lease_end, ''}
local ids = redis.call('ZRANGE', KEYS[1], '-inf', string.format('%.0f', now), 'BYSCORE', 'LIMIT', 0, ARGV[1])
if #ids > 0 then
  local payloads = redis.call('HMGET', KEYS[2], unpack(ids))
  local leased, lost = {}, {}
  for n, id in ipairs(ids) do
    if payloads[n] then
      leased[#leased + 1], leased[#leased + 2] = lease_end, id
      reply[#reply + 1], reply[#reply + 2] = id, payloads[n]
    else
      lost[#lost + 1] = id
    end
  end
  if #leased > 0 then redis.call('ZADD', KEYS[1], 'XX', unpack(leased)) end
  if #lost > 0 then redis.call('ZREM', KEYS[1], unpack(lost)) end
end
reply[4] = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] or ''
return reply
