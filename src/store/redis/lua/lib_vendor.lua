-- What all processes know of one vendor key: core/vendor_bucket.h and core/vendor_limit.cc in Lua, function by function.
-- The text is that of core/vendor_codec.cc: '1v', then '<I7I7I7BI7HI7I6I7B' seen, frozen, refused, strikes, synced, lowered
-- calls in flight, until when, permits given, the latest start told, limits; per limit '<I7I7I7I7' time, value, hold, 2 * window + 1 if
-- a bucket; then per permit
-- '<I6I7I7' number, acquired, lease end and '<I6' per limit, its cost.
-- Before: lib_clock (now, raw, stepped), `unpacked`, and of `policy` (ARGV[1]) after floor: '<BBBHBddd' limits, the paced one (0: none), the one that sets
-- apart who waits (0: none), calls in flight (0: no bound),
-- sync percent, lease, freeze floor, freeze cap; per limit '<Bddd' kind (1 bucket, 2 window, 3 calendar day), limit, window,
-- capacity, and of a day '<B' and the starts of the days around now.
-- After: the state in locals, as of now. `trouble`: 1 another format, 2 a clock stepped back, 3 days are missing: nothing
-- may be written then.
-- Products stay below 2^53 (lint refuses larger ones), so doubles are exact; what may be larger is only compared.
local packed, sub, byte = struct.pack, string.sub, string.byte
local least, most = math.min, math.max
local DEBT_MAX, GUARD, HEAD, OF_LIMIT = 9007199254740991, 250000, 54, 28
local function divide(x, y)
  local q = math.floor(x / y)
  local r = x - q * y
  if r < 0 then return q - 1, r + y end
  if r >= y then return q + 1, r - y end
  return q, r
end
local function ceiling(x, y)
  local q, r = divide(x, y)
  if r > 0 then return q + 1 end
  return q
end

place = 39
local kinds, limits, windows, capacities, days = {}, {}, {}, {}, {}
for i = 1, m do
  kinds[i], limits[i], windows[i], capacities[i], place = unpacked('<Bddd', policy, place)
  if kinds[i] == 3 then
    local list, count = {}, nil
    count, place = unpacked('<B', policy, place)
    for d = 1, count do
      list[d], place = unpacked('<d', policy, place)
    end
    days[i] = list
  end
end

-- What a limit's value counts in: of another kind of limit it means nothing.
local function mark(i)
  return windows[i] * 2 + (kinds[i] == 1 and 1 or 0)
end

local seen, frozen, refused, strikes, synced, lowered, lowered_until, given, told = 0, 0, 0, 0, 0, 0, 0, 0, 0
local times, values, holds, spans, permits, record = {}, {}, {}, {}, '', 20 + 6 * m
local trouble = stepped and 2 or nil
local text = redis.call('GET', KEYS[1])
if text and (byte(text, 1) ~= 49 or byte(text, 2) ~= 118) then
  trouble = 1
elseif text then
  local count
  seen, frozen, refused, strikes, synced, lowered, lowered_until, given, told, count =
    unpacked('<I7I7I7BI7HI7I6I7B', text, 3)
  for i = 1, least(count, m) do
    times[i], values[i], holds[i], spans[i] = unpacked('<I7I7I7I7', text, HEAD + 1 + OF_LIMIT * (i - 1))
  end
  permits = sub(text, HEAD + 1 + OF_LIMIT * count)
  if count ~= m then
    -- A reload has changed the number of limits: permits keep the costs of those that are still there.
    local old, kept = 20 + 6 * count, {}
    for at = 1, #permits, old do
      kept[#kept + 1] = sub(permits, at, at + 19 + 6 * least(count, m)) .. string.rep('\0', 6 * most(0, m - count))
    end
    permits = table.concat(kept)
  end
end
for i = #times + 1, m do
  times[i], values[i], holds[i], spans[i] = 0, 0, 0, 0
end
if seen > now then
  if seen - now > CLAMP then trouble = trouble or 2 end
  now = seen
end
seen = now
while #permits > 0 do
  local ends = unpacked('<I7', permits, 14)
  if ends > now then break end
  permits = sub(permits, record + 1)
end
if lowered > 0 and lowered_until <= now then lowered = 0 end
if most(frozen, refused) + freeze_cap <= now then strikes = 0 end

local function window_of(i, t)
  if kinds[i] == 2 then
    local start = divide(t, windows[i]) * windows[i]
    return start, start + windows[i]
  end
  local list = days[i]
  for d = #list - 1, 1, -1 do
    if list[d] <= t and t < list[d + 1] then return list[d], list[d + 1] end
  end
  trouble = trouble or 3
  return t, t + windows[i]
end

-- What starts are spread over: a window but for its end.
local function spread_over(i)
  if kinds[i] == 1 then return windows[i] end
  return windows[i] - least(GUARD, math.floor(windows[i] / 4))
end

local function in_flight(i, from)
  local units, at = 0, #permits - record + 1
  while at > 0 do
    local acquired = unpacked('<I7', permits, at + 6)
    if acquired < from then break end
    units = units + unpacked('<I6', permits, at + 14 + 6 * i)
    at = at - record
  end
  return units
end

local function refreshed(i, at)
  local time, value, span, mine = times[i], values[i], spans[i], mark(i)
  if (span - mine) % 2 ~= 0 then span = 0 end
  if kinds[i] == 1 then
    if span == 0 then return at, 0 end
    if span ~= mine then value = least(ceiling(value, (span - 1) / 2) * windows[i], DEBT_MAX) end
    if time >= at then return time, value end
    local refilled = (at - time) * limits[i]
    return at, refilled >= value and 0 or value - refilled
  end
  local start = window_of(i, at)
  if span == 0 then
    time, value = start, 0
  elseif span ~= mine then
    time, value = start, time + span / 2 > at and value or 0
  elseif time < start then
    time, value = start, least(in_flight(i, start + spread_over(i) - windows[i]), limits[i])
  end
  local thaw = least(frozen, at)
  if i == paced and thaw >= time then
    value = most(value, least(limits[i], divide((thaw - time) * limits[i], spread_over(i)) + 1))
  end
  return time, value
end

local function remaining(i)
  if holds[i] > now then return 0 end
  if kinds[i] ~= 1 then return most(0, limits[i] - values[i]) end
  local left = capacities[i] * windows[i] - values[i]
  if left <= 0 then return 0 end
  return (divide(left, windows[i]))
end

local function charge(i, units)
  local amount = kinds[i] == 1 and units * windows[i] or units
  values[i] = least(most(values[i] + amount, 0), DEBT_MAX)
end

local function least_remaining()
  if frozen > now then return 0 end
  local units = 9007199254740992
  for i = 1, m do
    units = least(units, remaining(i))
  end
  return units
end

local function concurrent_now()
  if lowered == 0 then return concurrent end
  return concurrent == 0 and lowered or least(lowered, concurrent)
end

local function save()
  local ends = most(frozen, lowered_until, now, told)
  if strikes > 0 then ends = most(ends, most(frozen, refused) + freeze_cap) end
  if #permits > 0 then
    local over = unpacked('<I7', permits, #permits - record + 14)
    ends = most(ends, over)
  end
  local parts = {'1v', packed('<I7I7I7BI7HI7I6I7B', seen, frozen, refused, strikes, synced, lowered, lowered_until, given, told, m)}
  for i = 1, m do
    local over = times[i]
    if kinds[i] ~= 1 then
      local _, window_end = window_of(i, i == paced and most(times[i], frozen) or times[i])
      over = window_end
    elseif limits[i] > 0 then
      over = over + ceiling(values[i], limits[i])
    elseif values[i] > 0 then
      over = now + 2592000000000
    end
    ends = most(ends, holds[i], over)
    parts[#parts + 1] = packed('<I7I7I7I7', times[i], values[i], holds[i], spans[i])
  end
  parts[#parts + 1] = permits
  if trouble then return end
  redis.call('SET', KEYS[1], table.concat(parts), 'PX', string.format('%d', math.ceil((ends + 60000000 - raw) / 1000)))
end
