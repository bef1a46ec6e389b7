-- What most batches are: unknown ids under policies of one fixed window without a calendar, whose keys pass newcomers
-- at once or have their tail ahead. The libraries behind this would answer and write the same, byte for byte; but only
-- to define them costs a call more than all that is done here, and each event two tables. An id is looked for and
-- written in one step (HSETNX), after all else is known: what its record holds, and that its bucket is one.
-- Done are the items up to the first that is not of that kind. `answered`: their answers (nil: none was, and nothing
-- was written); from `position` on the libraries go on, as in a call of their own. Needs lib_clock. Layouts:
-- lib_booking_batch, _state, _record, _bucket.
local function quick()
  if stepped then return nil end
  local call, try, pack, unpack_bytes, floor, ceil, max, min = redis.call, redis.pcall, struct.pack, struct.unpack,
    math.floor, math.ceil, math.max, math.min
  local KEYS, items, LONG_AGO, seconds = KEYS, ARGV[4], -2 ^ 60, math.floor(now / 1000000)
  local rows, policy_count = string.byte(ARGV[2], 1, 2)
  local policies, books = {}, {}
  for i = 1, policy_count do
    if #ARGV[4 + i] ~= 53 then return nil end
    local even, m, max_delay, retention, alg, N, W, _, shape, zones = unpack_bytes('<BBddBdddc8H', ARGV[4 + i])
    local kept = retention / 1000000 + 600  -- s that a record outlives its slot, EXPIRY_SLACK included
    if m ~= 1 or alg ~= 0 or zones ~= 0 or N < 1 or kept % 1 ~= 0 or kept >= 16777216 then return nil end
    policies[i] = { N = N, W = W, even = even == 1, max_delay = max_delay, kept = kept, shape = shape }
  end

  -- The state of a key row, entered under P; nil where it is not of that kind. Fw, Fu: released; Tw, Tu, Tat: tail.
  local function enter(text, row, P)
    local expires, seen, frozen, unknown = LONG_AGO, LONG_AGO, LONG_AGO, LONG_AGO
    local epoch, leak, leak_since, old, new, kind, repair = floor(now / 1000000) % 4294967296, nil, LONG_AGO, 0, 0, 0, ''
    local Tat, Rat, Fw, Fu, Tw, Tu = LONG_AGO, LONG_AGO, LONG_AGO, 0, LONG_AGO, 0
    leak = epoch
    if text then
      if #text < 140 or unpack_bytes('<d', text, 2) <= now then return nil end
      local format, m, logs, shape, limit
      format, expires, seen, frozen, unknown, epoch, leak, leak_since, old, new, kind, m, logs, Tat, Rat, shape, limit,
        Fw, Fu, Tw, Tu = unpack_bytes('<BdddddddddBBBddc8ddddd', text)
      repair = string.sub(text, 141)
      if format ~= 49 or m ~= 1 or logs ~= 0 or kind > 1 or #repair ~= 16 * kind or shape ~= P.shape or limit ~= P.N or
         seen - now > CLAMP then
        return nil
      end
    end
    if now > seen then seen = now end
    local from, pending, behind = max(seen, frozen, unknown), old + new, epoch - leak
    if behind < 0 or behind > 65535 then return nil end
    if pending > 0 then
      if Tat <= from then return nil end  -- overdue: to be anchored
    else  -- nothing is booked: the tail is what was released
      local start = seen - seen % P.W
      if from > seen or Fw > start then return nil end
      leak_since, kind, Rat, repair, Tat, Tw = seen, 0, LONG_AGO, '', seen, start
      Tu = Fw == start and Fu or 0
    end
    return { P = P, tag = string.sub(ARGV[3], row * 8 - 7, row * 8), expires = expires, seen = seen, frozen = frozen,
             unknown = unknown, epoch = epoch, leak = leak, leak_since = leak_since, old = old, new = new, kind = kind,
             Rat = Rat, repair = repair, pending = pending, behind = behind, event_expires = LONG_AGO, Tat = Tat,
             Tw = Tw, Tu = Tu, Fw = Fw, Fu = Fu }
  end

  local texts, answers, n, at, last = call('MGET', unpack(KEYS, 1, rows)), {}, 0, 1, #items
  while at <= last do
    local flags, policy, row, bucket, digest, cost, id, pos = unpack_bytes('<BBBBc8dBc0', items, at)
    local P, S = policies[policy], books[row]
    if not S then
      S = enter(texts[row], row, P)
      if not S then break end
      books[row] = S
    end
    local N, W, seen, t, taken, limit, first, record = P.N, P.W, S.seen, S.Tat, S.Tu, 0, nil, nil
    if flags == 1 then
      first, pos = unpack_bytes('<d', items, pos)
    else
      first = seen
    end
    if flags > 1 or S.P ~= P or cost > N or cost > 255 then break end
    local start = t - t % W
    if S.Tw ~= start then taken = 0 end
    local passes = S.pending == 0 and N - taken >= cost
    if not passes then
      if N - taken < cost then
        start, taken, limit = start + W, 0, 1
        t = start
      end
      if S.Fw == start then break end
      if taken > 0 and P.even then
        if taken * W > 4503599627370496 then break end  -- to be divided exactly
        local spread = start + floor(taken * W / N)
        if spread > t then t = spread end
      end
    end
    local kept, ago = P.kept, t - first
    if ago > P.max_delay and not passes or ago < 0 or ago > 1099511627775 then break end
    if passes then
      record = pack('<BBBBc8c8I7I5I3I4I2', 17, 0, 0, cost, digest, S.tag, t, ago, kept, 0, 0)
    elseif cost == 1 then
      record = pack('<Bc8c8I7I5I3I4I2', 31, digest, S.tag, t, ago, kept, S.epoch, S.behind)
    else
      record = pack('<BBBBc8c8I7I5I3I4I2', 16, 0, 0, cost, digest, S.tag, t, ago, kept, S.epoch, S.behind)
    end

    local key, expires = KEYS[bucket], t + kept * 1000000
    local ends, meta = min(ceil(expires / 1000000), seconds + 315360000), try('HGET', key, '')
    local ttl, swept = 0, ends
    if meta then
      if type(meta) ~= 'string' or #meta ~= 8 then break end
      ttl, swept = unpack_bytes('<I4I4', meta)
    end
    if swept <= seconds then break end  -- to be swept
    if call('HSETNX', key, id, record) == 0 then break end
    if ends > ttl then
      ttl = ends + 600 + floor(max(0, ends - seconds) / 2)
      call('HSET', key, '', pack('<I4I4', ttl, swept))
      call('PEXPIREAT', key, ttl * 1000)
    end

    if expires > S.event_expires then S.event_expires = expires end
    S.Tat, S.Tw, S.Tu = t, start, taken + cost
    n, at = n + 1, pos
    if passes then
      S.Fw, S.Fu = start, taken + cost
      answers[n] = pack('<BBddI4d', 0, 0, seen, t, 0, first)
    else
      S.new, S.pending = S.new + cost, S.pending + cost
      answers[n] = pack('<BBddI4d', 1, limit, seen, t, 0, first)
    end
  end
  if n == 0 then return nil end

  for row, S in pairs(books) do
    local P = S.P
    if S.event_expires > LONG_AGO then
      local lasts = max(now, S.seen, S.Tat, S.frozen, S.unknown)
      if S.kind > 0 then lasts = max(lasts, S.Rat) end
      if S.Fu > 0 then lasts = max(lasts, S.Fw + P.W) end
      local expires = max(S.expires, lasts + P.max_delay + 86400000000, S.event_expires)
      local forgotten = ceil((min(expires, now + 315360000000000) + 10000000) / 1000)
      call('SET', KEYS[row], pack('<BdddddddddBBBddc8ddddd', 49, expires, S.seen, S.frozen, S.unknown, S.epoch, S.leak,
           S.leak_since, S.old, S.new, S.kind, 1, 0, S.Tat, S.Rat, P.shape, P.N, S.Fw, S.Fu, S.Tw, S.Tu) .. S.repair,
           'PXAT', string.format('%.0f', forgotten))
    end
  end
  return table.concat(answers), at
end
local answered, position = quick()
if answered and position > #ARGV[4] then return struct.pack('<Bd', 0, now) .. answered end
