-- The plainest and most frequent: policies of one fixed window without a calendar, and what their keys look like.
-- lib_booking_quick and lib_booking_fire do most calls of reserve and gate with these alone, before the libraries that
-- do all kinds are even defined: to define those costs a call more than all that is done here, and each event two
-- tables. They would answer and write the same, byte for byte. Needs lib_clock. Layouts: lib_booking_batch, _state.
local LONG_AGO = -2 ^ 60

-- The policies of a call; nil where one is of another kind.
local function plain_policies()
  local policies, _, count = {}, string.byte(ARGV[2], 1, 2)
  for i = 1, count do
    local bytes = ARGV[4 + i]
    if #bytes ~= 53 then return nil end
    local even, m, max_delay, retention, alg, N, W, _, shape, zones = struct.unpack('<BBddBdddc8H', bytes)
    local kept = retention / 1000000 + 600  -- s that a record outlives its slot, EXPIRY_SLACK included
    if m ~= 1 or alg ~= 0 or zones ~= 0 or N < 1 or kept % 1 ~= 0 or kept >= 16777216 then return nil end
    policies[i] = { N = N, W = W, even = even == 1, max_delay = max_delay, kept = kept, shape = shape }
  end
  return policies
end

-- The state of a key row (false: none) under P; nil where it is of another kind, over, or under other numbers.
-- Fw, Fu: released; Tw, Tu, Tat: tail; repair: columns of the repair cursor, as they are.
local function plain_state(text, row, P)
  local expires, seen, frozen, unknown = LONG_AGO, LONG_AGO, LONG_AGO, LONG_AGO
  local epoch, leak, leak_since, repair = math.floor(now / 1000000) % 4294967296, nil, LONG_AGO, ''
  local old, new, kind = 0, 0, 0
  local Tat, Rat, Fw, Fu, Tw, Tu = LONG_AGO, LONG_AGO, LONG_AGO, 0, LONG_AGO, 0
  leak = epoch
  if text then
    if #text < 140 or struct.unpack('<d', text, 2) <= now then return nil end
    local format, m, logs, shape, limit
    format, expires, seen, frozen, unknown, epoch, leak, leak_since, old, new, kind, m, logs, Tat, Rat, shape, limit,
      Fw, Fu, Tw, Tu = struct.unpack('<BdddddddddBBBddc8ddddd', text)
    repair = string.sub(text, 141)
    if format ~= 49 or m ~= 1 or logs ~= 0 or kind > 1 or #repair ~= 16 * kind or shape ~= P.shape or limit ~= P.N or
       seen - now > CLAMP then
      return nil
    end
  end
  if now > seen then seen = now end
  return { P = P, tag = string.sub(ARGV[3], row * 8 - 7, row * 8), expires = expires, seen = seen, frozen = frozen,
           unknown = unknown, epoch = epoch, leak = leak, leak_since = leak_since, old = old, new = new, kind = kind,
           Rat = Rat, repair = repair, pending = old + new, behind = epoch - leak, event_expires = LONG_AGO, Tat = Tat,
           Tw = Tw, Tu = Tu, Fw = Fw, Fu = Fu }
end

-- Writes the rows whose events were written: event_expires is the latest of theirs.
local function plain_save(books)
  local max, ceil = math.max, math.ceil
  for row, S in pairs(books) do
    local P = S.P
    if S.event_expires > LONG_AGO then
      local lasts = max(now, S.seen, S.Tat, S.frozen, S.unknown)
      if S.kind > 0 then lasts = max(lasts, S.Rat) end
      if S.Fu > 0 then lasts = max(lasts, S.Fw + P.W) end
      local expires = max(S.expires, lasts + P.max_delay + 86400000000, S.event_expires)
      local forgotten = ceil((math.min(expires, now + 315360000000000) + 10000000) / 1000)
      redis.call('SET', KEYS[row], struct.pack('<BdddddddddBBBddc8ddddd', 49, expires, S.seen, S.frozen, S.unknown,
                 S.epoch, S.leak, S.leak_since, S.old, S.new, S.kind, 1, 0, S.Tat, S.Rat, P.shape, P.N, S.Fw, S.Fu,
                 S.Tw, S.Tu) .. S.repair, 'PXAT', string.format('%.0f', forgotten))
    end
  end
end
