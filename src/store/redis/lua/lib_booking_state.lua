-- A policy and a key's state: from and to bytes, and what happens when they meet (core/booking_adapt.cc).
return (function()  -- closed at the end of the script (lib_booking_limit says why)
local CLOCK_CLAMP_MAX = 5000000
local KEY_FORMAT = 49  -- '1'

-- Policy: '<BBdd' spread even, m, max delay, id retention; per limit '<Bdddc8H' algorithm, limit, window, capacity,
-- shape, zone transitions, each '<dd' instant, offset from UTC.
local function read_policy(bytes)
  local even, m, max_delay, retention, pos = unpack_bytes('<BBdd', bytes)
  local P = { even = even == 1, m = m, max_delay = max_delay, retention = retention,
              alg = {}, N = {}, W = {}, cap = {}, max = {}, plan = {}, zone = {}, shape = {} }
  local fixed, longest = 0, nil
  for i = 1, m do
    local alg, N, W, cap, shape, n
    alg, N, W, cap, shape, n, pos = unpack_bytes('<Bdddc8H', bytes, pos)
    P.alg[i], P.N[i], P.W[i], P.cap[i], P.shape[i] = alg, N, W, cap, shape
    P.max[i] = alg == BUCKET and cap or N
    if alg == LOG then P.plan[i] = max(1, N - math.ceil(N * 5 / 100)) end
    if n > 0 then
      local z = { n = n, at = {}, off = {}, from = 0, to = 0 }
      for k = 1, n do z.at[k], z.off[k], pos = unpack_bytes('<dd', bytes, pos) end
      P.zone[i] = z
    end
    if alg == FIXED then
      fixed = fixed + 1
      if not P.shortest or W < P.W[P.shortest] then P.shortest = i end
      if not longest or W >= P.W[longest] then longest = i end
    end
  end
  if fixed > 1 then P.top = longest end
  return P
end

local function new_columns() return { w = {}, u = {}, log = {} } end
local function new_state()
  local S = { expires = LONG_AGO, seen = LONG_AGO, frozen = LONG_AGO, unknown = LONG_AGO, epoch = 0, leak = 0,
              leak_since = LONG_AGO, old = 0, new = 0, kind = 0, m = 0, shape = {}, limit = {},
              F = new_columns(), T = new_columns(), R = new_columns() }
  S.T.at, S.R.at = LONG_AGO, LONG_AGO
  return S
end

-- Key state: '1', nine doubles, repair kind, m, how many columns have logs, tail and repair instants; per limit
-- shape, number, F, T and, where kind > 0, R; then the logs: limit, cursor, length, numbers.
local LOG_CHUNK = 200
local function write_log(out, i, cursor, log)
  local n = #log
  out[#out + 1] = pack('<BBI4', i, cursor, n)
  for from = 1, n, LOG_CHUNK do
    local to = min(from + LOG_CHUNK - 1, n)
    out[#out + 1] = pack('<' .. string.rep('d', to - from + 1), unpack(log, from, to))
  end
end
local function read_log(log, bytes, pos, n)
  for from = 1, n, LOG_CHUNK do
    local count = min(LOG_CHUNK, n - from + 1)
    local chunk = { unpack_bytes('<' .. string.rep('d', count), bytes, pos) }
    for k = 1, count do log[from + k - 1] = chunk[k] end
    pos = chunk[count + 1]
  end
  return pos
end

local function encode_state(S)
  local F, T, R, kind, m = S.F, S.T, S.R, S.kind, S.m
  local logs = 0
  for i = 1, m do
    if F.log[i] then
      logs = logs + (#F.log[i] > 0 and 1 or 0) + (#T.log[i] > 0 and 1 or 0)
      if kind > 0 and #R.log[i] > 0 then logs = logs + 1 end
    end
  end
  local head = pack('<BdddddddddBBBdd', KEY_FORMAT, S.expires, S.seen, S.frozen, S.unknown, S.epoch, S.leak,
                    S.leak_since, S.old, S.new, kind, m, logs, T.at, R.at)
  if m == 1 and kind == 0 and logs == 0 then
    return head .. pack('<c8ddddd', S.shape[1], S.limit[1], F.w[1], F.u[1], T.w[1], T.u[1])
  end
  local out = { head }
  for i = 1, m do
    out[#out + 1] = pack('<c8ddddd', S.shape[i], S.limit[i], F.w[i], F.u[i], T.w[i], T.u[i])
    if kind > 0 then out[#out + 1] = pack('<dd', R.w[i], R.u[i]) end
  end
  if logs > 0 then
    for i = 1, m do
      if F.log[i] then
        if #F.log[i] > 0 then write_log(out, i, 1, F.log[i]) end
        if #T.log[i] > 0 then write_log(out, i, 2, T.log[i]) end
        if kind > 0 and #R.log[i] > 0 then write_log(out, i, 3, R.log[i]) end
      end
    end
  end
  return table.concat(out)
end

local function decode_state(bytes)
  local S = { F = new_columns(), T = new_columns(), R = new_columns(), shape = {}, limit = {} }
  local F, T, R = S.F, S.T, S.R
  local format, logs, pos
  format, S.expires, S.seen, S.frozen, S.unknown, S.epoch, S.leak, S.leak_since, S.old, S.new, S.kind, S.m, logs,
    T.at, R.at, pos = unpack_bytes('<BdddddddddBBBdd', bytes)
  for i = 1, S.m do
    S.shape[i], S.limit[i], F.w[i], F.u[i], T.w[i], T.u[i], pos = unpack_bytes('<c8ddddd', bytes, pos)
    if S.kind > 0 then
      R.w[i], R.u[i], pos = unpack_bytes('<dd', bytes, pos)
    end
    F.log[i], T.log[i], R.log[i] = {}, {}, {}
  end
  local cursors = { F, T, R }
  for _ = 1, logs do
    local i, cursor, n
    i, cursor, n, pos = unpack_bytes('<BBI4', bytes, pos)
    pos = read_log(cursors[cursor].log[i], bytes, pos, n)
  end
  if S.kind > 2 or pos ~= #bytes + 1 then error('length') end
  return S
end
-- The state of a key row (false: none); nil and what is wrong with it.
local function load_state(bytes)
  if not bytes then return new_state() end
  local format = string.byte(bytes)
  if format ~= KEY_FORMAT then
    return nil, (format or 0) > KEY_FORMAT and format <= 57 and 'newer' or 'corrupt'
  end
  local good, S = pcall(decode_state, bytes)
  if not good then return nil, 'corrupt' end
  return S
end

local function add_limit(P, i, C, t, units, drain)
  local alg = P.alg[i]
  if alg == FIXED then
    window_add(P, i, C, t, units)
  elseif alg == BUCKET then
    bucket_add(P, i, C, t, units, drain and 1 or P.cap[i])
  else
    log_add(P.W[i], C.log[i], t, units)
  end
end

local function adapt_columns(P, S)
  -- A column of `to` from the old column of `from`; a bucket keeps its debt in units.
  local function carry(i, to, from, k, old)
    to.w[i], to.u[i], to.log[i] = from.w[k], from.u[k], from.log[k]
    local N, now = P.N[i], S.seen
    if P.alg[i] ~= BUCKET or N == old then return end
    local q, r = 0, 0
    if old == 0 then
      q, r = 0, max(0, from.u[k])
    elseif from.w[k] >= now then
      q, r = from.w[k] - now, from.u[k]
    end
    if N == 0 then
      to.w[i], to.u[i] = 0, q * old + r
      return
    end
    local whole, rest = muldiv(q, old, N)
    rest = rest + r
    local more = floor(rest / N)
    to.w[i], to.u[i] = now + whole + more, rest - more * N
  end
  local F, T, R, taken = new_columns(), new_columns(), new_columns(), {}
  T.at, R.at = S.T.at, S.R.at
  for i = 1, P.m do
    local found
    for k = 1, S.m do
      if not found and not taken[k] and S.shape[k] == P.shape[i] then found = k end
    end
    if found then
      taken[found] = true
      carry(i, F, S.F, found, S.limit[found])
      carry(i, T, S.T, found, S.limit[found])
      if S.kind > 0 then carry(i, R, S.R, found, S.limit[found]) end
    else
      F.w[i], F.u[i], F.log[i] = LONG_AGO, 0, {}
      T.w[i], T.u[i], T.log[i] = LONG_AGO, 0, {}
      R.w[i], R.u[i], R.log[i] = LONG_AGO, 0, {}
      -- Nothing was counted under an added limit; the tail assumes the most that can be pending.
      local units = min(S.old + S.new, P.max[i])
      if T.at > S.seen and units > 0 then add_limit(P, i, T, T.at, units, false) end
    end
  end
  S.F, S.T, S.R, S.m, S.shape, S.limit = F, T, R, P.m, {}, {}
  for i = 1, P.m do S.shape[i], S.limit[i] = P.shape[i], P.N[i] end
end

-- Starts a call on the key: clamps the clock, then carries the state over to the policy's limits. False: the clock
-- stepped back too far; nothing changed.
local function enter(P, S, now)
  local seen = S.seen
  if seen - now > CLOCK_CLAMP_MAX then return false end
  if seen == LONG_AGO then
    -- Records may outlive a reset key: counting from the clock keeps their epochs foreign to this state.
    S.epoch = floor(now / 1000000) % 4294967296
    S.leak = S.epoch
  end
  if now > seen then S.seen = now end
  local same = S.m == P.m
  for i = 1, P.m do same = same and S.shape[i] == P.shape[i] and S.limit[i] == P.N[i] end
  if not same then adapt_columns(P, S) end
  return true
end

local function state_expiry(P, S, now)
  local last = max(now, S.seen, S.T.at, S.frozen, S.unknown)
  if S.kind > 0 then last = max(last, S.R.at) end
  local F = S.F
  for i = 1, P.m do
    local alg = P.alg[i]
    if alg == FIXED then
      if F.u[i] > 0 then last = max(last, window_end(P, i, F.w[i])) end
    elseif alg == BUCKET then
      last = max(last, F.w[i] + 1)
    elseif #F.log[i] > 0 then
      last = max(last, F.log[i][#F.log[i] - 1] + P.W[i])
    end
  end
  return last + P.max_delay + 86400000000
end
