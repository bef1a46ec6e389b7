#!lua
-- vendor_observe: what one answer of the vendor changes (core/vendor_observe.cc).
-- KEYS    the vendor key
-- ARGV    1: '<d' floor (lib_clock), the policy (lib_vendor), '<Bdddd' verdict (0 nothing, 1 answered, 2 refused, 3
--         concurrency, 4 thaw), permit (0: none), when it was acquired, when the call was sent (-1: unknown), what the vendor
--         says to wait; then per limit '<dddd' remaining (-1: not said), hold (-1), its resolution, actual cost (-1)
-- Reply   '<Bddddd' trouble (lib_vendor) or 0, Redis' time, now, flags (1 froze, 2 lowered, 4 held, 8 settled, 16 returned,
--         32 fewer, 64 ignored), least remaining, frozen until (0: not)
-- Why     permit back, actual cost, freeze and lower buckets in one atomic call.
local policy, unpacked = ARGV[1], struct.unpack
local floor, m, paced, queued, concurrent, percent, lease, freeze_floor, freeze_cap, place = unpacked('<dBBBHBddd', policy)
-- uses: lib_clock.lua lib_vendor.lua
local verdict, permit, permit_acquired, sent, freeze, at = unpacked('<Bdddd', policy, place)
local left, hold, resolution, actual, reported = {}, {}, {}, {}, false
for i = 1, m do
  left[i], hold[i], resolution[i], actual[i], at = unpacked('<dddd', policy, at)
  reported = reported or left[i] >= 0
  times[i], values[i] = refreshed(i, now)
  spans[i] = mark(i)
end
local known = sent >= 0 or permit > 0
if permit > 0 then sent = permit_acquired end
if not known or sent > now then sent = now end
local froze, lower, held, settled, returned, fewer, ignored = 0, 0, 0, 0, 0, 0, 0

if permit > 0 then
  for from = 1, #permits, record do
    local number, acquired = unpacked('<I6I7', permits, from)
    if number == permit and acquired == permit_acquired then
      returned = 16
      for i = 1, m do
        if actual[i] >= 0 then
          settled = 8
          local cost = unpacked('<I6', permits, from + 14 + 6 * i)
          if kinds[i] == 1 or acquired >= times[i] then charge(i, actual[i] - cost) end
        end
      end
      permits = sub(permits, 1, from - 1) .. sub(permits, from + record)
      break
    end
  end
end

local function empty_at(until_when)
  for i = 1, m do
    if kinds[i] == 1 then
      values[i], times[i] = most(values[i], capacities[i] * windows[i]), until_when
    end
  end
end

local later = sent > refused
if verdict == 1 and later then strikes = 0 end
if verdict == 2 then
  local doublings = 0
  if strikes == 0 or later then
    strikes, refused = least(strikes + 1, 30), now
    doublings = strikes - 1
  else
    strikes = most(strikes, least(strikes + 1, 4))
  end
  local until_when = now + least(most(freeze, least(freeze_floor * 2 ^ doublings, freeze_cap)), freeze_cap)
  if until_when > frozen then
    frozen, froze = until_when, 1
    empty_at(until_when)
  end
elseif verdict == 3 then
  local together, flying = concurrent_now(), #permits / record
  if together > 0 then flying = least(flying, together - 1) end
  lowered, lowered_until, fewer = most(1, flying), now + 60000000, 32
elseif verdict == 4 then
  strikes = 0
  if frozen > now then
    frozen = now
    empty_at(now)
  end
end

if reported and sent < synced then
  ignored = 64
elseif reported then
  synced = sent
  for i = 1, m do
    -- Of the window before: what was left then says nothing of this one.
    local before = kinds[i] ~= 1 and sent < times[i] and (hold[i] < 0 or sent + hold[i] - resolution[i] <= times[i])
    if left[i] >= 0 and times[i] <= now and not before then
      local ends_with_window = false
      if kinds[i] ~= 1 then
        local _, ends = window_of(i, times[i])
        ends_with_window = hold[i] - resolution[i] <= ends - now and ends - now <= hold[i]
      end
      if left[i] == 0 and hold[i] >= 0 and not ends_with_window then
        local until_when = now + least(hold[i], most(freeze_cap, windows[i] * 2))
        if until_when > holds[i] then holds[i], held = until_when, 4 end
      else
        local target = most(0, left[i] - in_flight(i, known and sent - GUARD or 0))
        local ours, whole = remaining(i), kinds[i] == 1 and capacities[i] or limits[i]
        local scarce = left[i] * 100 <= whole * percent
        if target < ours and (scarce or (ours - target) * 100 > whole * percent) then
          lower = 2
          if scarce then target = most(0, target - (ours - target)) end
          if kinds[i] == 1 then
            values[i], times[i] = (capacities[i] - target) * windows[i], now
          else
            values[i] = limits[i] - target
          end
        end
      end
    end
  end
end
save()
return packed('<Bddddd', trouble or 0, raw, now, froze + lower + held + settled + returned + fewer + ignored,
  least_remaining(), frozen > now and frozen or 0)
