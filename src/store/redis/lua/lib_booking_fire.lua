-- What most calls of gate are: timers that fire when their slot has come, under plain policies (lib_booking_plain) with
-- room for them. Read, charged and released one after another.
-- Done are the items up to the first that is not of that kind, as in lib_booking_quick: `answered` and `position`.
-- Layouts: lib_booking_record.
local function fire_plainly()
  if stepped then return nil end
  local policies, books, answers, n, at, items = plain_policies(), {}, {}, 0, 1, ARGV[4]
  if not policies then return nil end
  local call, pack, unpack_bytes, max = redis.call, struct.pack, struct.unpack, math.max
  local texts = call('MGET', unpack(KEYS, 1, (string.byte(ARGV[2]))))
  while at <= #items do
    local _, policy, row, bucket, _, _, _, generation, _, id, pos = unpack_bytes('<BBBBc8ddI4dBc0', items, at)
    local P, S = policies[policy], books[row]
    if not S then
      S = texts[row] and plain_state(texts[row], row, P)
      if not S or S.frozen > S.seen then break end
      books[row] = S
      if S.kind == 1 then S.Rw, S.Ru = unpack_bytes('<dd', S.repair) end
    end
    local bytes = redis.pcall('HGET', KEYS[bucket], id)
    if S.P ~= P or type(bytes) ~= 'string' then break end
    local head, flags, gen, cost, digest, tag, slot, ago, kept, epoch, behind = string.byte(bytes), 0, 0, 1, nil
    if head == 31 and #bytes == 38 then
      _, digest, tag, slot, ago, kept, epoch, behind = unpack_bytes('<Bc8c8I7I5I3I4I2', bytes)
    elseif head == 16 and #bytes == 41 then
      _, flags, gen, cost, digest, tag, slot, ago, kept, epoch, behind = unpack_bytes('<BBBBc8c8I7I5I3I4I2', bytes)
    else
      break
    end
    local seen, W, first, expires = S.seen, P.W, slot - ago, slot + kept * 1000000
    local start, left, via = seen - seen % W, expires - seen, flags % 2
    local used = S.Fw == start and S.Fu or 0
    ago = seen - first
    -- Longer kept it would have to be, or of another layout: rare, and not done here. Nor is one fired before.
    if expires <= now or tag ~= S.tag or gen ~= generation or slot > seen or P.N - used < cost or flags > 7 or
       left < (P.kept - 600) * 1000000 or left >= 16777216000000 or ago > 1099511627775 then
      break
    end
    local whole = left % 1000000 == 0
    call('HSET', KEYS[bucket], id,
         whole and
           pack('<BBBBc8c8I7I5I3I4I2', 17, flags, gen, cost, digest, tag, seen, ago, left / 1000000, epoch, behind) or
           pack('<BBBBc8c8I7I5I6I4I2', 22, flags, gen, cost, digest, tag, seen, ago, left, epoch, behind))

    S.Fw, S.Fu = start, used + cost
    -- A release that was not planned in this window takes room from those that are; and no cursor claims less than what
    -- was released.
    local leak = (epoch - behind) % 4294967296
    local standing, moved = epoch == S.epoch and leak == S.leak, slot - slot % W ~= start
    if S.Tw == start then
      if standing and via == 0 and moved then S.Tu = S.Tu + cost end
      if S.Tu < S.Fu then S.Tu = S.Fu end
    end
    if S.kind == 1 and S.Rw == start then
      if moved or via == 0 or not standing then S.Ru = S.Ru + cost end
      if S.Ru < S.Fu then S.Ru = S.Fu end
    end
    if leak == S.leak then
      S.new = max(0, S.new - cost)
    elseif (leak + 1) % 4294967296 == S.leak then
      S.old = max(0, S.old - cost)
    end
    if expires > S.event_expires then S.event_expires = expires end
    n, at = n + 1, pos
    answers[n] = pack('<BBddI4d', 0, 0, seen, seen, gen, first)
  end
  if n == 0 then return nil end
  for _, S in pairs(books) do
    if S.kind == 1 then S.repair = pack('<dd', S.Rw, S.Ru) end
  end
  plain_save(books)
  return table.concat(answers), at
end
local answered, position = fire_plainly()
if answered and position > #ARGV[4] then return struct.pack('<Bd', 0, now) .. answered end
