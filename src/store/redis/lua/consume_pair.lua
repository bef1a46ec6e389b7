#!lua
-- consume_pair: consume_buckets for what most requests of several limits are: one request that takes both of two
-- different buckets under common numbers (counter_code.h), or neither.
-- KEYS    the two counters
-- ARGV    1: '<d' floor (lib_clock), then for each, or once for both, '<ddHc4Bc0' as in consume_bucket, for 1 request
-- Reply   "seconds us text text", as consume_buckets; nothing was done where it says so.
-- Why     written out, without tables: two of them cost as much as a GET.
local call, one, two, packed = redis.call, KEYS[1], KEYS[2], ARGV[1]
local floor, cost, full, _, code, lifetime, pos = struct.unpack('<dddHc4Bc0', packed)
local time, text, other = call('TIME'), call('GET', one), call('GET', two)
local seconds, us = time[1], time[2]
local now, late = seconds * 1000000 + us, 0
if floor > now then
  late = floor - now
  now = floor
end
now = now - 1600000000000000  -- arrivals are counted from then
local after, last = now + cost, now + full
local other_after, other_last, other_code, other_lifetime = after, last, code, lifetime
if pos <= #packed then
  cost, full, _, other_code, other_lifetime = struct.unpack('<ddHc4Bc0', packed, pos)
  other_after, other_last = now + cost, now + full
end
if text then
  local arrival = string.sub(text, -4) == code and tonumber(string.sub(text, 1, -5))
  if not arrival then
    last = 0
    if string.byte(text, 2) >= 97 then text = '?' end
  elseif arrival > now then
    after = after + arrival - now
  end
end
if other then
  local arrival = string.sub(other, -4) == other_code and tonumber(string.sub(other, 1, -5))
  if not arrival then
    last = 0
    if string.byte(other, 2) >= 97 then other = '?' end
  elseif arrival > now then
    other_after = other_after + arrival - now
  end
end
if after <= last and other_after <= other_last and late <= 5000000 then
  if late > 0 then
    late = math.ceil(late / 1000)
    lifetime, other_lifetime = lifetime + late, other_lifetime + late
  end
  local format = string.format
  local written = format('%d', after) .. code
  call('PSETEX', one, lifetime, written)
  -- Often both were full.
  if other_after ~= after or other_code ~= code then written = format('%d', other_after) .. other_code end
  call('PSETEX', two, other_lifetime, written)
end
return seconds .. ' ' .. us .. ' ' .. (text or '') .. ' ' .. (other or '')
