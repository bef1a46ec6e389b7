#!lua
-- vendor_acquire: one call to a vendor may start, or how long to wait: every limit, the freeze and the calls in flight.
-- KEYS    the vendor key
-- ARGV    1: '<d' floor (lib_clock), the policy (lib_vendor), '<d' per limit, the cost (0: does not use it), and 40 bytes
--         so that what a policy of one limit says can be read in one go, whatever this one is
-- Reply   '<Bddddddd' trouble (lib_vendor) or 0, Redis' time, now, 1 allowed 0 denied 2 impossible, wait, permit, least
--         remaining, frozen until (0: not)
-- Why     all limits and the freeze in one atomic call, so that no process needs to be told of a freeze: the next acquire
--         anywhere finds it. A denial writes the start that it tells.
local policy, unpacked = ARGV[1], struct.unpack
local floor, m, paced, queued, concurrent, percent, lease, freeze_floor, freeze_cap, kind, limit, window, capacity, cost =
  unpacked('<dBBBHBdddBdddd', policy)
local place = 64
-- uses: lib_clock.lua lib_vendor_quick.lua lib_vendor.lua
local thawed, for_permit = most(frozen, now), 0
local wait = thawed - now
local together = concurrent_now()
if together > 0 and #permits >= together * record then
  local ends = unpacked('<I7', permits, 14)
  for_permit = least(500000, ends - now)
end
if strikes > 0 and #permits > 0 then
  -- One call tries the vendor after a refusal; the others wait for its answer.
  local probe = unpacked('<I7', permits, #permits - record + 7)
  if probe >= frozen then wait = most(wait, least(100000, probe + 5000000 - now)) end
end
local costs, impossible = {}, false
for i = 1, m do
  cost, place = unpacked('<d', policy, place)
  costs[i] = cost
  times[i], values[i] = refreshed(i, now)
  spans[i] = mark(i)
  if cost > 0 then
    local time, value = times[i], values[i]
    if thawed > now then time, value = refreshed(i, thawed) end
    wait = most(wait, holds[i] - now)
    if cost > (kinds[i] == 1 and capacities[i] or limits[i]) then
      impossible = true
    elseif kinds[i] == 1 then
      local over, ahead = value - (capacities[i] - cost) * windows[i], most(time, thawed) - now
      if over <= 0 then
        wait = most(wait, ahead)
      else
        wait = most(wait, limits[i] > 0 and ahead + ceiling(over, limits[i]) or math.huge)
      end
    elseif value + cost > limits[i] then
      local _, ends = window_of(i, time)
      wait = most(wait, ends - now)
    else
      if i == paced then time = time + divide(value * spread_over(i), limits[i]) end
      wait = most(wait, time - now)
    end
  end
end
local verdict, permit = 0, 0
if impossible then
  verdict, wait = 2, 0
elseif wait == 0 and for_permit == 0 then
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
else
  if for_permit > wait then
    wait = for_permit
  elseif queued > 0 and costs[queued] > 0 then
    -- The first start that nobody was told.
    local spread, earliest = spread_over(queued), now + wait
    local start, farthest = told + ceiling(costs[queued] * spread, limits[queued]), 10000000
    if kinds[queued] ~= 1 then
      local begins, ends = window_of(queued, start)
      if start - begins >= spread then start = ends end
      farthest = most(farthest, windows[queued])
    end
    if start < earliest or start - earliest >= farthest then start = earliest end
    told, wait = start, start - now
  end
  save()
end
return packed('<Bddddddd', trouble or 0, raw, now, verdict, wait, permit, least_remaining(), frozen > now and frozen or 0)
