-- Replay of what is pending from a cursor on (core/booking_replay.cc). Rare and large: made when first needed.
local replay_from
local function replay(P, S, C, units, drain)
  if replay_from then return replay_from(P, S, C, units, drain) end
  local ROUNDS_MAX = 256

  local function windows_later(t, count, W) return min(t + count * W, NEVER) end
  local function window_room(i)
    return P.N[i] - (C.w[i] == window_start(P, i, C.at) and C.u[i] or 0)
  end

  local function nest()
    local order, capacity = {}, {}
    for i = 1, P.m do
      if P.alg[i] ~= FIXED then return {}, {} end
      if not P.zone[i] then order[#order + 1] = i end
    end
    table.sort(order, function(a, b)
      if P.W[a] ~= P.W[b] then return P.W[a] < P.W[b] end
      return a < b
    end)
    for k = 1, #order do
      local i = order[k]
      capacity[k] = P.N[i]
      if k > 1 then
        local shorter = P.W[order[k - 1]]
        if P.W[i] % shorter ~= 0 then
          for gone = #order, k, -1 do order[gone] = nil end
          capacity[k] = nil
          return order, capacity
        end
        capacity[k] = min(capacity[k], P.W[i] / shorter * capacity[k - 1])
      end
    end
    return order, capacity
  end

  local function empty_from(order, level)
    for k = 1, level do
      local i = order[k]
      if window_start(P, i, C.at) ~= C.at or window_room(i) ~= P.N[i] then return false end
    end
    return true
  end

  local function skip_windows(order, capacities)
    for level = #order, 1, -1 do
      if empty_from(order, level) then
        local whole = {}
        for k = 1, level do whole[order[k]] = true end
        local capacity, W = capacities[level], P.W[order[level]]
        local count = floor((units - 1) / capacity)  -- leaves a unit for the exact placement
        for i = 1, P.m do
          if not whole[i] then
            count = min(count, floor(window_room(i) / capacity), floor((window_end(P, i, C.at) - C.at) / W))
          end
        end
        if count >= 1 then
          local behind = windows_later(C.at, count, W)
          for i = 1, P.m do
            if whole[i] then
              C.w[i], C.u[i], C.log[i] = window_start(P, i, behind), 0, {}
            else
              window_add(P, i, C, C.at, count * capacity)
            end
          end
          C.at = behind
          return count * capacity
        end
      end
    end
    return 0
  end

  -- How many of the units go together where the cursor stands.
  local function fitting()
    local fit = units
    for i = 1, P.m do
      if drain and P.alg[i] == BUCKET then fit = min(fit, 1) else fit = min(fit, room(P, S, C, i, C.at, true)) end
    end
    return max(fit, 1)
  end

  local function reach_windows(i)
    local N, left = P.N[i], max(0, window_room(i))
    if units <= left then return C.at, N - left + units end
    local whole = floor((units - left - 1) / N)
    local rest = units - left - whole * N
    local at = window_end(P, i, C.at)
    if not P.zone[i] then return windows_later(at, whole, P.W[i]), rest end
    -- Calendar days one by one; behind the horizon nobody books any more.
    local stop, day = max(S.seen, C.at) + P.max_delay, 0
    while day < whole and at <= stop do
      at, day = window_end(P, i, at), day + 1
    end
    return at, rest
  end
  -- When limit i alone would have placed the units: a lower bound of when all limits together do.
  local function reach_alone(i)
    if P.alg[i] == FIXED then return reach_windows(i) end
    if P.alg[i] == LOG then
      local plan = P.plan[i]
      local first = log_next(P.W[i], plan, S.F.log[i], C.log[i], C.at, 1)
      return windows_later(first, floor((units - 1) / plan), P.W[i]), (units - 1) % plan + 1
    end
    local bucket = { w = { [i] = C.w[i] }, u = { [i] = C.u[i] } }
    bucket_add(P, i, bucket, C.at, units - 1, P.cap[i])
    return bucket_next(P, i, bucket, C.at, 1), 0
  end
  local function jump()
    local ats, rests, t = {}, {}, C.at
    for i = 1, P.m do
      ats[i], rests[i] = reach_alone(i)
      t = max(t, ats[i])
    end
    for i = 1, P.m do
      if P.alg[i] == BUCKET then
        bucket_add(P, i, C, C.at, units, P.cap[i])
      elseif P.alg[i] == LOG then
        C.log[i] = { t, rests[i] }
      else
        local start = window_start(P, i, t)
        local rest = window_start(P, i, ats[i]) == start and rests[i] or 0
        C.w[i], C.u[i], C.log[i] = window_start(P, i, t), rest, {}
      end
    end
    C.at = t
  end

  local function replay_bucket()
    local function place_one()
      C.at = bucket_next(P, 1, C, C.at, 1)
      add_limit(P, 1, C, C.at, 1, drain)
    end
    if units > 0 then place_one() end
    if units > 1 then
      bucket_add(P, 1, C, C.at, units - 2, P.cap[1])
      place_one()
    end
  end

  replay_from = function(P_, S_, C_, units_, drain_)
    P, S, C, units, drain = P_, S_, C_, units_, drain_
    if P.m == 1 and P.alg[1] == BUCKET then return replay_bucket() end
    local order, capacities = nest()
    local round = 0
    while units > 0 and C.at < NEVER do
      if round == ROUNDS_MAX then return jump() end
      round = round + 1
      C.at = place(P, S, C, C.at, 1, false)
      local skipped = skip_windows(order, capacities)
      if skipped > 0 then
        units = units - skipped
      else
        local fit = fitting()
        for i = 1, P.m do add_limit(P, i, C, C.at, fit, drain) end
        units = units - fit
      end
    end
  end
  return replay_from(P, S, C, units, drain)
end
