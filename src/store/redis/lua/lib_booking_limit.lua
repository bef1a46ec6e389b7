-- One limit's arithmetic, as core/booking_limit.cc and core/fixed_window.cc have it. Times and units are whole
-- numbers below 2^53, exact as doubles; products that could pass it go through muldiv. LONG_AGO and NEVER are
-- powers of two: exact, and only ever compared.
--
-- A policy P: m limits as columns alg, N (units per window), W (window, us), cap, zone, plan (what a sliding log
-- plans), shape. A cursor C (released F, tail T, repair R): columns w, u, log, and at.
--   fixed window  w: start of its window, u: units in it
--   token bucket  w: theoretical arrival, whole us, u: numerator of the rest over N
--   sliding log   log: {time, units, time, units, ...}, ascending
--
-- The libraries behind this one open a function each, whose locals are the next one's upvalues: Lua makes all functions
-- anew in every call, and searches a function's own locals for each name that an inner one uses.
local pack, unpack_bytes = struct.pack, struct.unpack
local floor, max, min, fmod = math.floor, math.max, math.min, math.fmod
local LONG_AGO, NEVER = -2 ^ 60, 2 ^ 60
local FIXED, LOG, BUCKET = 0, 1, 2

-- Whole part and rest of a * b / n; exact for whole a, b >= 0, n > 0.
local function muldiv(a, b, n)
  local p = a * b
  if p < 9007199254740992 then
    local q = floor(p / n)
    local r = p - q * n
    if r < 0 then return q - 1, r + n end
    return q, r
  end
  local bq = floor(b / n)
  local br = b - bq * n
  local q, r, bit = 0, 0, 1
  while bit * 2 <= a do bit = bit * 2 end
  while bit >= 1 do
    q, r = q * 2, r * 2
    if a >= bit then
      a, q, r = a - bit, q + bq, r + br
    end
    while r >= n do
      q, r = q + 1, r - n
    end
    bit = bit / 2
  end
  return q, r
end

-- The calendar day of zone z that holds t, into z.from and z.to (base/zone.cc says why the latest date counts).
local function first_showing(z, shown)
  local at, off, i = z.at, z.off, 1
  while i < z.n and at[i + 1] <= shown - 93600000000 do i = i + 1 end
  while true do
    local reached = max(i == 1 and LONG_AGO or at[i], shown - off[i])
    if i == z.n or reached < at[i + 1] then return reached end
    i = i + 1
  end
end
local function find_day(z, t)
  local at, off, i = z.at, z.off, 1
  while i < z.n and at[i + 1] <= t do i = i + 1 end
  local latest = t + off[i]
  while i > 1 and at[i] > t - 187200000000 do
    i = i - 1
    latest = max(latest, at[i + 1] - 1 + off[i])
  end
  local midnight = floor(latest / 86400000000) * 86400000000
  z.from, z.to = first_showing(z, midnight), first_showing(z, midnight + 86400000000)
end

local function window_start(P, i, t)
  local z = P.zone[i]
  if z then
    if t < z.from or t >= z.to then find_day(z, t) end
    return z.from
  end
  if t > 9e15 then return t - fmod(t, P.W[i]) end
  return t - t % P.W[i]
end
local function window_end(P, i, t)
  local z = P.zone[i]
  if not z then return window_start(P, i, t) + P.W[i] end
  window_start(P, i, t)
  return z.to
end
local function window_add(P, i, C, t, units)
  local start = window_start(P, i, t)
  if C.w[i] == start then C.u[i] = C.u[i] + units else C.w[i], C.u[i] = start, units end
end

-- Both cursors hold a bucket's arrival: a's is earlier than b's.
local function arrives_before(P, i, a, b)
  if P.N[i] == 0 then return a.u[i] < b.u[i] end
  return a.w[i] < b.w[i] or (a.w[i] == b.w[i] and a.u[i] < b.u[i])
end
local function bucket_room(P, i, C, t)
  local N, W, debt = P.N[i], P.W[i], 0
  if N == 0 then
    debt = max(0, C.u[i])
  elseif C.w[i] >= t then
    debt = (C.w[i] - t) * N + C.u[i]
  end
  local left = P.cap[i] * W - debt
  return left > 0 and floor(left / W) or 0
end
local function bucket_next(P, i, C, t, cost)
  local N = P.N[i]
  if N == 0 then return bucket_room(P, i, C, t) >= cost and t or NEVER end
  local spare = P.cap[i] - cost
  local q, r = muldiv(spare < 0 and -spare or spare, P.W[i], N)
  if spare < 0 then q, r = -q, -r end
  local ready = C.w[i] - q + (C.u[i] > r and 1 or 0)
  if r < 0 and C.u[i] - r > N then ready = ready + 1 end
  return ready <= t and t or min(ready, max(t, NEVER))
end
-- `burst`: the largest burst this cursor takes; below the capacity the rest of the bucket is spilled.
local function bucket_add(P, i, C, t, units, burst)
  local N, W, w, u = P.N[i], P.W[i], C.w[i], C.u[i]
  local spilled = max(0, P.cap[i] - max(burst, units))
  if N == 0 then
    C.w[i], C.u[i] = 0, max(u, spilled * W) + units * W
    return
  end
  local q, r = muldiv(spilled, W, N)
  q = q + t
  if w < q or (w == q and u < r) then w, u = q, r end
  q, r = muldiv(units, W, N)
  w, u = w + q, u + r
  if u >= N then w, u = w + 1, u - N end
  C.w[i], C.u[i] = w, u
end
local function bucket_remove(P, i, C, units)
  local N = P.N[i]
  if N == 0 then
    C.w[i], C.u[i] = 0, C.u[i] - units * P.W[i]
    return
  end
  local q, r = muldiv(units, P.W[i], N)
  local w, u = C.w[i] - q, C.u[i] - r
  if u < 0 then w, u = w - 1, u + N end
  C.w[i], C.u[i] = w, u
end

-- Newest first over releases and plan (which may be nil), as one log: the units in (t - W, t], and the time of the
-- entry where they pass `most`: there the walk ends. Nil where they do not.
local function log_walk(W, released, plan, t, most)
  local r, p, units, from = #released, plan and #plan or 0, 0, t - W
  while true do
    local at, n
    if p > 0 and (r == 0 or plan[p - 1] >= released[r - 1]) then
      at, n, p = plan[p - 1], plan[p], p - 2
    elseif r > 0 then
      at, n, r = released[r - 1], released[r], r - 2
    end
    if not at or at <= from then return units, nil end
    units = units + n
    if units > most then return units, at end
  end
end
local function log_units(W, released, plan, t)
  local units = log_walk(W, released, plan, t, NEVER)
  return units
end
local function log_next(W, limit, released, plan, t, cost)
  local _, full = log_walk(W, released, plan, t, limit - cost)
  return full and max(t, full + W) or t
end
-- The log without its first `gone` numbers, in place.
local function log_drop(log, gone)
  if gone == 0 then return end
  local n = #log
  for k = 1, n do log[k] = log[k + gone] end
end
local function log_add(W, log, t, units)
  local n = #log
  if n > 0 and log[n - 1] >= t then
    log[n] = log[n] + units
  else
    log[n + 1], log[n + 2] = t, units
    n = n + 2
  end
  local horizon, gone = log[n - 1] - W, 0  -- by time, never by the limit: it may be raised again
  while log[gone + 1] <= horizon do gone = gone + 2 end
  log_drop(log, gone)
end
local function log_remove(log, t, units)
  for k = 1, #log, 2 do
    if log[k] == t and log[k + 1] >= units then
      log[k + 1] = log[k + 1] - units
      if log[k + 1] == 0 then
        table.remove(log, k)
        table.remove(log, k)
      end
      return
    end
  end
end
