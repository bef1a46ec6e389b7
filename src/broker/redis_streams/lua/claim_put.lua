#!lua
-- claim_put: keeps the bytes of one claim, unless all of them together would be too many.
-- KEYS    1: bytes of this claim · 2: ages (sorted set: end in ms, of "size id") · 3: size of all claims
--         4: it is over (let go before)
-- ARGV    1: id · 2: bytes · 3: kept for so long, ms · 4: size of all claims at most · 5: ended ones to forget at most
-- Reply   size of all claims before; -1: it is kept (or was there)
local time = redis.call('TIME')
local kept, most, forget = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if not kept or not most or not forget then return redis.error_reply('ERR claim_put: a number is none') end
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local size = #ARGV[2]
local member = size .. ' ' .. ARGV[1]
local all = tonumber(redis.call('GET', KEYS[3]) or '0')
local ended = redis.call('ZRANGE', KEYS[2], '-inf', now, 'BYSCORE', 'LIMIT', 0, forget)
for _, old in ipairs(ended) do
  all = all - tonumber(string.sub(old, 1, string.find(old, ' ', 1, true) - 1))
end
if #ended > 0 then
  redis.call('ZREM', KEYS[2], unpack(ended))
  redis.call('SET', KEYS[3], all)
end
local there = redis.call('ZSCORE', KEYS[2], member)
if not there and all + size > most then return all end
redis.call('SET', KEYS[1], ARGV[2], 'PX', kept)
redis.call('ZADD', KEYS[2], now + kept, member)
redis.call('DEL', KEYS[4])
if not there then redis.call('SET', KEYS[3], all + size) end
return -1
