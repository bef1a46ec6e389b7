#!lua
-- consume_buckets: several different token buckets under common numbers (counter_code.h), in one of two ways.
-- KEYS    the counters
-- ARGV    1: floor (lib_clock) · 2: "all": one request that takes every charge or none; "each": every key has
--         requests of its own · then five per key, or once for all keys, as ARGV 2 to 6 of consume_bucket; "all": of
--         one request
-- Reply   "seconds us", then per key a blank and its text as it was before (none: empty; "?" for a text of spelt
--         numbers). What was admitted follows from the texts, as in consume_bucket; "all": nothing was done where any
--         text is one that consume_bucket would leave alone.
-- Why     one call and one TIME for up to 32 keys, as few words as there are to say, one text as reply.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local floor, all, late = ARGV[1] + 0, ARGV[2] == 'all', 0
local sub, byte, tonumber, floor_of, format = string.sub, string.byte, tonumber, math.floor, string.format
local reply, after = {time[1], time[2]}, {}
if floor > now then
  late = math.ceil((floor - now) / 1000)
  now = floor
end
local refused, step = late > 5000, #ARGV > 7 and 5 or 0
local code, asked, cost, full = ARGV[3], ARGV[4], ARGV[5] + 0, ARGV[6] + 0
for i = 1, #KEYS do
  if step > 0 and i > 1 then
    local at = i * 5 - 2
    code, asked, cost, full = ARGV[at], ARGV[at + 1], ARGV[at + 2] + 0, ARGV[at + 3] + 0
  end
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
    if asked == '1' then
      fits = 1
    elseif fits > asked + 0 then
      fits = asked + 0
    end
    after[i] = format('%d', arrival + fits * cost - 1600000000000000) .. code
  elseif all then
    refused = true
  end
end
if refused then return table.concat(reply, ' ') end
for i = 1, #KEYS do
  if after[i] then
    local lives = ARGV[step * (i - 1) + 7]
    redis.call('SET', KEYS[i], after[i], 'PX', late > 0 and lives + late or lives)
  end
end
return table.concat(reply, ' ')
