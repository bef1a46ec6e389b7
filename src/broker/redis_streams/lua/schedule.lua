#!lua
-- schedule: persists timer entries of one partition; an id that is there stays as it is.
-- KEYS    1: due times (sorted set, us) · 2: payloads (hash), both by entry id
-- ARGV    per entry: id, due time in us, payload
-- Reply   seconds, us: Redis' time
local time = redis.call('TIME')
if #ARGV % 3 ~= 0 then return redis.error_reply('ERR schedule: three arguments per entry') end
local ids, first = {}, {}
for i = 1, #ARGV, 3 do
  if not tonumber(ARGV[i + 1]) then return redis.error_reply('ERR schedule: a due time is no number') end
  if not first[ARGV[i]] then
    first[ARGV[i]] = i
    ids[#ids + 1] = ARGV[i]
  end
end
local there = redis.call('ZMSCORE', KEYS[1], unpack(ids))
local payloads, dues = {}, {}
for n, id in ipairs(ids) do
  if not there[n] then
    local i, at = first[id], #dues
    payloads[at + 1], payloads[at + 2] = id, ARGV[i + 2]
    dues[at + 1], dues[at + 2] = ARGV[i + 1], id
  end
end
if #dues > 0 then
  redis.call('HSET', KEYS[2], unpack(payloads))
  redis.call('ZADD', KEYS[1], unpack(dues))
end
return time
