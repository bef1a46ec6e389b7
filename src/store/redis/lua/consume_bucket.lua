#!lua
-- consume_bucket: the fast path of one token bucket under common numbers (counter_code.h), for equal requests.
-- KEYS    the counter
-- ARGV    1: '<dddHc4Bc0' floor (lib_clock) · us that refill one request's cost · us that refill the whole bucket · how
--         many requests · the four digits of its numbers · lifetime in ms, as digits
-- Reply   "seconds us text", the text as it was before (none: empty). Core finds from it what was admitted, and
--         all numbers of the answers. Nothing was done where the time is more than CLAMP before floor, where the text
--         is under other numbers, or where it is further ahead than any full refill: the caller sees it too.
-- Why     one integer per key, GET and one PSETEX on admission only, and one short text as reply, joined from what
--         is at hand: no number is formatted but the one that is stored. Each argument costs a call 0.2 us: so it is one.
local call, key = redis.call, KEYS[1]
local floor, cost, full, asked, code, lifetime = struct.unpack('<dddHc4Bc0', ARGV[1])
local time, text = call('TIME'), call('GET', key)
local now = time[1] * 1000000 + time[2]
local reply = time[1] .. ' ' .. time[2] .. ' ' .. (text or '')
if floor > now then
  if floor - now > 5000000 then return reply end
  lifetime = lifetime + math.ceil((floor - now) / 1000)
  now = floor
end
now = now - 1600000000000000  -- arrivals are counted from then
local arrival = now
if text then
  arrival = string.sub(text, -4) == code and tonumber(string.sub(text, 1, -5))
  if not arrival then return reply end
  if arrival < now then arrival = now end
end
local left = now + full - arrival
if left < cost then return reply end
if asked > 1 then
  local fits = math.floor(left / cost)
  cost = cost * (fits < asked and fits or asked)
end
call('PSETEX', key, lifetime, string.format('%d', arrival + cost) .. code)
return reply
