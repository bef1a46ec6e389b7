-- What most batches of reserve are: unknown ids under plain policies (lib_booking_plain), whose keys pass newcomers at
-- once or have their tail ahead. An id is looked for and written in one step (HSETNX), after all else is known: what
-- its record holds, and that its bucket is one.
-- Done are the items up to the first that is not of that kind. `answered`: their answers (nil: none was, and nothing
-- was written); from `position` on the libraries go on, as in a call of their own. Layouts: lib_booking_record and
-- _bucket.
local function quick()
  if stepped then return nil end
  local call, try, pack, unpack_bytes, floor, ceil, max, min = redis.call, redis.pcall, struct.pack, struct.unpack,
    math.floor, math.ceil, math.max, math.min
  local KEYS, items, seconds = KEYS, ARGV[4], math.floor(now / 1000000)
  local policies, books = plain_policies(), {}
  if not policies then return nil end

  -- A key's state, ready for a newcomer; nil where it is to be anchored, or of another kind.
  local function enter(text, row, P)
    local S = plain_state(text, row, P)
    if not S or S.behind < 0 or S.behind > 65535 then return nil end
    if lost > 0 then S.unknown = max(S.unknown, lost - lost % P.W + P.W) end
    local seen, from = S.seen, max(S.seen, S.frozen, S.unknown)
    if S.pending > 0 then
      if S.Tat <= from then return nil end  -- overdue
    else  -- nothing is booked: the tail is what was released
      local start = seen - seen % P.W
      if from > seen or S.Fw > start then return nil end
      S.leak_since, S.kind, S.Rat, S.repair, S.Tat, S.Tw = seen, 0, LONG_AGO, '', seen, start
      S.Tu = S.Fw == start and S.Fu or 0
    end
    return S
  end

  local texts, answers, n, at, last = call('MGET', unpack(KEYS, 1, (string.byte(ARGV[2])))), {}, 0, 1, #items
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

  plain_save(books)
  return table.concat(answers), at
end
local answered, position = quick()
if answered and position > #ARGV[4] then return struct.pack('<Bd', 0, now) .. answered .. struct.pack('<d', since) end
