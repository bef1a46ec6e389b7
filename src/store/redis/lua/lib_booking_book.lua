-- Moves of a key under its policy (core/booking_book.cc): charging releases, booking, and keeping the cursors true to
-- what was released. "drain": bookings spill what is left in the planned bucket, so that no burst is booked.
-- A cursor never claims less than what was really released.
return (function()  -- closed at the end of the script (lib_booking_limit says why)
local function sync(P, S, C)
  local F = S.F
  for i = 1, P.m do
    local alg = P.alg[i]
    if alg == FIXED then
      if C.w[i] == F.w[i] and C.u[i] < F.u[i] then C.u[i] = F.u[i] end
    elseif alg == BUCKET then
      if arrives_before(P, i, C, F) then C.w[i], C.u[i] = F.w[i], F.u[i] end
    else  -- the past is real, only the future is planned
      local log, gone = C.log[i], 0
      while log[gone + 1] and log[gone + 1] <= S.seen do gone = gone + 2 end
      log_drop(log, gone)
    end
  end
end

local function current(S, r) return r.epoch == S.epoch and r.leak == S.leak end

-- A release that was not planned in this window takes room from those that are.
local function charge_plan(P, S, C, cost, slot)
  for i = 1, P.m do
    if P.alg[i] == FIXED then
      local start = window_start(P, i, S.seen)
      if C.w[i] == start and not (slot and window_start(P, i, slot) == start) then C.u[i] = C.u[i] + cost end
    end
  end
end
-- Charges a release at now; `booking`: the record whose booking it fulfils, or nil.
local function charge(P, S, cost, booking)
  for i = 1, P.m do add_limit(P, i, S.F, S.seen, cost, false) end
  local standing = booking and current(S, booking)
  if not booking or (standing and booking.via == 0) then charge_plan(P, S, S.T, cost, booking and booking.slot) end
  sync(P, S, S.T)
  if S.kind == 0 then return end
  local planned = standing and (booking.via == 1 or S.kind == 2)
  charge_plan(P, S, S.R, cost, planned and booking.slot)
  sync(P, S, S.R)
end
local function charge_newcomer(P, S, cost)
  add_cursor(P, S.T, S.seen, cost, false)
  for i = 1, P.m do add_limit(P, i, S.F, S.seen, cost, false) end
  sync(P, S, S.T)
  if S.kind > 0 then sync(P, S, S.R) end
end

local function copy_cursor(P, from)
  local C = { at = from.at, w = {}, u = {}, log = {} }
  for i = 1, P.m do
    C.w[i], C.u[i], C.log[i] = from.w[i], from.u[i], {}
    local log = from.log[i]
    if log then
      for k = 1, #log do C.log[i][k] = log[k] end
    end
  end
  return C
end
local function start_from_releases(P, S, from)
  local C, F = { at = from, w = {}, u = {}, log = {} }, S.F
  for i = 1, P.m do
    C.w[i], C.u[i], C.log[i] = F.w[i], F.u[i], {}
    if P.alg[i] == FIXED then
      local start = window_start(P, i, from)
      if C.w[i] < start then C.w[i], C.u[i] = start, 0 end
    end
  end
  return C
end
-- Makes the tail stand at or after `from`, with room kept for everything pending.
local LOST_TIMER_AGE = 3600000000
local function anchor(P, S, from)
  -- Strictly ahead: a tail at now with units pending would let a newcomer pass the overdue.
  local pending = S.old + S.new
  if S.T.at > from and pending > 0 then return end
  if pending == 0 then
    S.T = start_from_releases(P, S, from)
    S.kind, S.R = 0, { at = LONG_AGO, w = {}, u = {}, log = {} }
    return
  end
  if S.seen - S.leak_since >= LOST_TIMER_AGE then
    S.old, S.new, S.leak, S.leak_since = S.new, 0, (S.leak + 1) % 4294967296, S.seen
  end
  S.epoch = (S.epoch + 1) % 4294967296
  S.kind, S.R = 1, start_from_releases(P, S, from)
  S.T = copy_cursor(P, S.R)
  -- Behind a freeze nobody goes at once: buckets are replayed at their planned rate, no volley at its end.
  replay(P, S, S.T, S.old + S.new, from > S.seen)
end
local function start_leak(S)
  if S.old + S.new == 0 then S.leak_since = S.seen end
end

-- Before a booking at `slot`: the tail leaves a largest window that is not over; late events of that window keep
-- the room where it stood.
local function cross(P, S, slot)
  local top = P.top
  if not top or S.T.at < S.seen then return end
  if window_start(P, top, slot) <= window_start(P, top, S.T.at) then return end
  if S.kind > 0 and window_start(P, top, S.R.at) >= window_start(P, top, S.seen) then return end
  S.R, S.kind = copy_cursor(P, S.T), 2
end
-- Books the units at the tail: pending from now on.
local function book_at_tail(P, S, slot, cost)
  cross(P, S, slot)
  add_cursor(P, S.T, slot, cost, true)
  S.new = S.new + cost
end

-- The store was emptied by `at`: newcomers wait until no release of before can count any more.
local function mark_history_unknown(P, S, at)
  for i = 1, P.m do
    local ends = at + P.W[i]
    if P.alg[i] == FIXED then
      ends = window_end(P, i, at)
    elseif P.alg[i] == BUCKET and P.N[i] > 0 then
      local q, r = muldiv(P.cap[i], P.W[i], P.N[i])
      ends = at + q + (r > 0 and 1 or 0)
    end
    S.unknown = max(S.unknown, ends)
  end
end

-- What a reservation may answer (core/booking_types.h), and what only the caller's side knows of.
local NOW, AT, BEYOND, IMPOSSIBLE, DUPLICATE, CONFLICT = 0, 1, 2, 3, 4, 5
local function book(P, S, cost, first, max_delay)
  local slot, mover = place(P, S, S.T, max(S.seen, S.frozen, S.unknown), cost, P.even)
  if slot - first > max_delay then return BEYOND, slot, mover end
  book_at_tail(P, S, slot, cost)
  return AT, slot, mover
end
-- An event that nothing is known of, or that starts over: outcome, slot, the limit that decided (nil: the slot says).
local function reserve_newcomer(P, S, cost, first, max_delay)
  local limit = impossible(P, cost)
  if limit then return IMPOSSIBLE, S.seen, limit end
  start_leak(S)
  anchor(P, S, max(S.seen, S.frozen, S.unknown))
  local now = S.seen
  if S.T.at <= now and may_release(P, S, cost) and all_have_room(P, S, S.T, cost) then
    charge_newcomer(P, S, cost)
    return NOW, now, nil
  end
  return book(P, S, cost, first, max_delay)
end
