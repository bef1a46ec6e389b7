#!lua
-- consume_bucket: the fast path of one token bucket under common numbers (counter_code.h), for equal requests.
-- KEYS    the counter
-- ARGV    1: floor (lib_clock) · 2: the four digits of its numbers · 3: how many requests · 4: us that refill
--         one request's cost · 5: us that refill the whole bucket · 6: lifetime in ms
-- Reply   "seconds us text", the text as it was before (none: empty). Core finds from it what was admitted, and
--         all numbers of the answers. Nothing was done where the time is more than CLAMP before floor, where the text
--         is under other numbers, or where it is further ahead than any full refill: the caller sees it too.
-- Why     one integer per key, GET and one SET PX on admission only, and one short text as reply, joined from what
--         is at hand: no number is formatted but the one that is stored.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local floor, full, lifetime = ARGV[1] + 0, ARGV[5] + 0, ARGV[6]
local text = redis.call('GET', KEYS[1])
local reply = time[1] .. ' ' .. time[2] .. ' ' .. (text or '')
if floor > now then
  if floor - now > 5000000 then return reply end
  lifetime = lifetime + math.ceil((floor - now) / 1000)
  now = floor
end
local arrival = now
if text then
  local stored = string.sub(text, -4) == ARGV[2] and tonumber(string.sub(text, 1, -5))
  if not stored then return reply end
  stored = stored + 1600000000000000
  if stored > now then
    arrival = stored
    if arrival - now > full + 5000000 then return reply end
  end
end
local cost = ARGV[4] + 0
local fits = math.floor((now + full - arrival) / cost)
if fits > 0 then
  if ARGV[3] == '1' then
    fits = 1
  elseif fits > ARGV[3] + 0 then
    fits = ARGV[3] + 0
  end
  redis.call('SET', KEYS[1], string.format('%d', arrival + fits * cost - 1600000000000000) .. ARGV[2], 'PX', lifetime)
end
return reply
