-- Taking a booking out of the plan, and booking it again (core/booking_book.cc).
local function unbook_from(P, S, C, r)
  for i = 1, P.m do
    local alg = P.alg[i]
    if alg == FIXED then
      if C.w[i] == window_start(P, i, r.slot) then C.u[i] = max(0, C.u[i] - r.cost) end
    elseif alg == BUCKET then
      if r.slot == C.at then bucket_remove(P, i, C, r.cost) end
    else
      log_remove(C.log[i], r.slot, r.cost)
    end
  end
  sync(P, S, C)
end
local function unbook(P, S, r)
  if not current(S, r) then return end
  if r.via == 0 and S.kind == 2 and r.slot <= S.R.at then
    local R = S.R
    for i = 1, P.m do
      if P.alg[i] == FIXED and R.w[i] == window_start(P, i, r.slot) then R.u[i] = max(0, R.u[i] - r.cost) end
    end
  end
  if r.via == 0 then
    unbook_from(P, S, S.T, r)
  elseif S.kind > 0 then
    unbook_from(P, S, S.R, r)
  end
end
-- Out of what is pending.
local function resolve(S, r)
  if r.leak == S.leak then
    S.new = max(0, S.new - r.cost)
  elseif (r.leak + 1) % 4294967296 == S.leak then
    S.old = max(0, S.old - r.cost)
  end
end

-- Overdue units of a replayed backlog, and events whose largest window is still running while the tail has left it.
local REPAIRS_MAX = 2
local function may_repair(P, S, r, from)
  if S.kind == 0 or r.repairs >= REPAIRS_MAX then return false end
  if r.epoch ~= S.epoch then return true end
  local top = P.top
  if not top then return false end
  local running = window_start(P, top, from)
  return window_start(P, top, r.slot) == running and running < window_start(P, top, S.T.at)
end
local function catch_up_repair(P, S, from)
  local F, R = S.F, S.R
  for i = 1, P.m do
    if P.alg[i] == BUCKET and arrives_before(P, i, R, F) then R.w[i], R.u[i] = F.w[i], F.u[i] end
    if P.alg[i] == FIXED then
      local start = window_start(P, i, from)
      if R.w[i] < start then R.w[i], R.u[i] = start, F.w[i] == start and F.u[i] or 0 end
    end
  end
end
-- Slot, the limit that decided, and whether it is in the room kept for it (1) or at the tail (0).
local function search_again(P, S, r, from)
  local slot, mover = place(P, S, S.T, from, r.cost, P.even)
  if not may_repair(P, S, r, from) then return slot, mover, 0 end
  if S.R.at < from then catch_up_repair(P, S, from) end
  local kept_slot, kept_mover = place(P, S, S.R, from, r.cost, P.even)
  if kept_slot <= slot then return kept_slot, kept_mover, 1 end
  return slot, mover, 0
end
local function book_again(P, S, r, slot, via)
  if via == 0 then
    book_at_tail(P, S, slot, r.cost)
  else
    add_cursor(P, S.R, slot, r.cost, true)
    S.new = S.new + r.cost
    r.repairs = r.repairs + 1
  end
  r.state, r.slot, r.epoch, r.leak, r.via, r.waits = BOOKED, slot, S.epoch, S.leak, via, 0
end
