#!lua
-- consume_buckets: several different token buckets under common numbers (counter_code.h), in one of two ways.
-- KEYS    the counters
-- ARGV    1: '<d' floor (lib_clock), then for each key, or once for all of them, '<ddHc4Bc0' as in consume_bucket · 2:
--         "all": one request that takes every charge or none; "each": every key has requests of its own
-- Reply   "seconds us", then per key a blank and its text as it was before (none: empty; "?" for a text of spelt
--         numbers). What was admitted follows from the texts, as in consume_bucket; "all": nothing was done where any
--         text is one that consume_bucket would leave alone.
-- Why     one call and one TIME for up to 32 keys, as few words as there are to say, one text as reply.
local time, packed, all, late = redis.call('TIME'), ARGV[1], ARGV[2] == 'all', 0
local now = time[1] * 1000000 + time[2]
local sub, byte, tonumber, floor_of, format = string.sub, string.byte, tonumber, math.floor, string.format
local reply, after, lives = {time[1], time[2]}, {}, {}
local floor, pos = struct.unpack('<d', packed)
if floor > now then
  late = math.ceil((floor - now) / 1000)
  now = floor
end
local refused, cost, full, asked, code, lifetime = late > 5000, nil, nil, nil, nil, nil
for i = 1, #KEYS do
  if pos <= #packed then cost, full, asked, code, lifetime, pos = struct.unpack('<ddHc4Bc0', packed, pos) end
  local text, arrival, fits = redis.call('GET', KEYS[i]), now, 0
  reply[i + 2] = text or ''
  if text then
    local stored = sub(text, -4) == code and tonumber(sub(text, 1, -5))
    if not stored then
      if byte(text, 2) >= 97 then reply[i + 2] = '?' end
      stored = 9000000000000000
    end
    stored = stored + 1600000000000000
    if stored > now then arrival = stored end
  end
  if arrival - now <= full + 5000000 then fits = floor_of((now + full - arrival) / cost) end
  if fits > 0 then
    if fits > asked then fits = asked end
    after[i], lives[i] = format('%d', arrival + fits * cost - 1600000000000000) .. code, lifetime
  elseif all then
    refused = true
  end
end
if refused then return table.concat(reply, ' ') end
for i = 1, #KEYS do
  if after[i] then
    redis.call('PSETEX', KEYS[i], late > 0 and lives[i] + late or lives[i], after[i])
  end
end
return table.concat(reply, ' ')
