-- Questions to a key under its policy (core/booking_cursor.cc): P the policy, S the state, entered.
return (function()  -- closed at the end of the script (lib_booking_limit says why)
local function room(P, S, C, i, t, planned)
  local alg = P.alg[i]
  if alg == FIXED then return P.N[i] - (C.w[i] == window_start(P, i, t) and C.u[i] or 0) end
  if alg == BUCKET then return bucket_room(P, i, C, t) end
  local limit = planned and P.plan[i] or P.N[i]
  return limit - log_units(P.W[i], S.F.log[i], C ~= S.F and C.log[i], t)
end
local function all_have_room(P, S, C, cost)
  local now = S.seen
  for i = 1, P.m do
    if room(P, S, C, i, now, false) < cost then return false end
  end
  return true
end
local function add_cursor(P, C, t, units, drain)
  if t > C.at then C.at = t end
  for i = 1, P.m do add_limit(P, i, C, t, units, drain) end
end
local function impossible(P, cost)
  for i = 1, P.m do
    if cost > P.max[i] then return i end
  end
end
local function may_release(P, S, cost) return S.seen >= S.frozen and all_have_room(P, S, S.F, cost) end

-- The earliest place with room in the cursor and in what was released: a slot that the gate must refuse would be
-- rebooked for ever. Also the limit that moved it last (nil: none).
local PLACE_ROUNDS_MAX = 64
local function place(P, S, C, from, cost, even)
  local F, alg, N, W, m = S.F, P.alg, P.N, P.W, P.m
  local t, mover = max(C.at, from), nil
  local Cw, Cu, Fw, Fu = C.w, C.u, F.w, F.u
  for _ = 1, PLACE_ROUNDS_MAX do
    local before = t
    for i = 1, m do
      local moved
      if alg[i] == FIXED then
        moved = t
        local start = window_start(P, i, moved)
        if Cw[i] == start and N[i] - Cu[i] < cost then
          moved = window_end(P, i, moved)
          start = window_start(P, i, moved)
        end
        if Fw[i] == start and N[i] - Fu[i] < cost then moved = window_end(P, i, moved) end
      elseif alg[i] == BUCKET then
        moved = bucket_next(P, i, F, bucket_next(P, i, C, t, cost), cost)
      else
        moved = log_next(W[i], P.plan[i], F.log[i], C ~= F and C.log[i], t, cost)
        moved = log_next(W[i], N[i], F.log[i], nil, moved, cost)
      end
      if moved ~= t then t, mover = moved, i end
    end
    if t == before then
      local s = even and P.shortest
      if s then
        -- Checked again in the next round: the offset may enter another limit's window.
        local start = window_start(P, s, t)
        local taken = Cw[s] == start and Cu[s] or 0
        if taken > 0 then t = max(t, start + muldiv(taken, window_end(P, s, t) - start, N[s])) end
      end
      if t == before then break end
    end
  end
  return t, mover
end

