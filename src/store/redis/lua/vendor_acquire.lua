#!lua
-- vendor_acquire: one call to a vendor may start, or how long to wait: every limit, the freeze and the calls in flight.
-- KEYS    the vendor key
-- ARGV    1: floor (lib_clock) · 2: the policy (lib_vendor) · 3: '<d' per limit, the cost (0: does not use it)
-- Reply   '<Bddddddd' trouble (lib_vendor) or 0, Redis' time, now, 1 allowed 0 denied 2 impossible, wait, permit, least
--         remaining, frozen until (0: not)
-- Why     all limits and the freeze in one atomic call, so that no process needs to be told of a freeze: the next acquire
--         anywhere finds it. A denial writes nothing.
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_vendor_quick.lua lib_vendor.lua
local wait = most(frozen - now, 0)
local together = concurrent_now()
if together > 0 and #permits >= together * record then
  local ends = unpacked('<I7', permits, 14)
  wait = most(wait, least(500000, ends - now))
end
local costs, impossible, at = {}, false, 1
for i = 1, m do
  local cost
  cost, at = unpacked('<d', ARGV[3], at)
  costs[i] = cost
  times[i], values[i] = refreshed(i)
  spans[i] = mark(i)
  if cost > 0 then
    wait = most(wait, holds[i] - now)
    if cost > (kinds[i] == 1 and capacities[i] or limits[i]) then
      impossible = true
    elseif kinds[i] == 1 then
      local over, ahead = values[i] - (capacities[i] - cost) * windows[i], most(times[i] - now, 0)
      if over <= 0 then
        wait = most(wait, ahead)
      else
        wait = most(wait, limits[i] > 0 and ahead + ceiling(over, limits[i]) or math.huge)
      end
    elseif values[i] + cost > limits[i] then
      local _, ends = window_of(i, times[i])
      wait = most(wait, ends - now)
    else
      local start = times[i]
      if i == paced then start = start + divide(values[i] * windows[i], limits[i]) end
      wait = most(wait, start - now)
    end
  end
end
local verdict, permit = 0, 0
if impossible then
  verdict, wait = 2, 0
elseif wait == 0 then
  verdict = 1
  given = given + 1
  permit = given
  local until_when = now + lease
  if #permits >= 1024 * record then permits = sub(permits, record + 1) end
  if #permits > 0 then
    local last = unpacked('<I7', permits, #permits - record + 14)
    until_when = most(until_when, last)
  end
  local parts = {permits, packed('<I6I7I7', given, now, until_when)}
  for i = 1, m do
    charge(i, costs[i])
    parts[i + 2] = packed('<I6', costs[i])
  end
  permits = table.concat(parts)
  save()
elseif wait == math.huge then
  wait = 0
end
return packed('<Bddddddd', trouble or 0, raw, now, verdict, wait, permit, least_remaining(), frozen > now and frozen or 0)
