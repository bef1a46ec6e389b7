#!lua
-- consume_buckets: several different token buckets under common numbers (counter_code.h), in one of two ways.
-- KEYS    the counters
-- ARGV    1: floor (lib_clock) · 2: "all": one request that takes every charge or none; "each": every key has
--         requests of its own · then five per key, as ARGV 2 to 6 of consume_bucket; "all": of one request
-- Reply   {seconds, us, then per key its text as it was before}. What was admitted follows from the texts, as in
--         consume_bucket; "all": nothing was done where any text is one that consume_bucket would leave alone.
-- Why     one call, one TIME, one MGET for up to 32 keys.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local floor, all, late = ARGV[1] + 0, ARGV[2] == 'all', 0
local texts = redis.call('MGET', unpack(KEYS))
local sub, tonumber, floor_of = string.sub, tonumber, math.floor
local reply, after = {time[1], time[2]}, {}
if floor > now then
  late = math.ceil((floor - now) / 1000)
  now = floor
end
local refused = late > 5000
for i = 1, #KEYS do
  local text, at = texts[i], i * 5 - 2
  reply[i + 2] = text or ''
  local arrival, cost, full = now, ARGV[at + 2] + 0, ARGV[at + 3] + 0
  if text then
    local stored = sub(text, -4) == ARGV[at] and tonumber(sub(text, 1, -5))
    if stored then
      stored = stored + 1600000000000000
      if stored > now then arrival = stored end
    end
    if not stored or arrival - now > full + 5000000 then arrival = now + full end
  end
  local fits = floor_of((now + full - arrival) / cost)
  if fits > 0 then
    local asked = ARGV[at + 1] + 0
    if fits > asked then fits = asked end
    after[i] = arrival + fits * cost - 1600000000000000
  else
    refused = refused or all
  end
end
if refused then return reply end
for i = 1, #KEYS do
  if after[i] then
    local at = i * 5 - 2
    redis.call('SET', KEYS[i], string.format('%.0f', after[i]) .. ARGV[at], 'PX', ARGV[at + 4] + late)
  end
end
return reply
