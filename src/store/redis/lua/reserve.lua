#!lua
-- reserve: books events, or releases them now (core/booking_reserve.cc). A reservation belongs to its event id: asked
-- again, it answers what the record says and books nothing, so a call may be repeated after any failure.
-- KEYS, ARGV, reply: lib_booking_batch; then the marker as key, and what the reply ends with: lib_booking_since.
-- Item    '<BBBBc8dBc0' flags (1 first received is given, 2 a generation is over, 4 only if known here), policy, key
--         row, bucket, body digest, cost, id; then by the flags '<d' first received, '<I4' the generation that is over
-- Answer  '<BBddI4d' outcome, deciding limit (from 1; 0: what the slot says), now, slot, generation, first received
-- Why     one call for up to 32 events of a hot stream: a key is read and written once however many it books.
-- Short   lib_booking_quick answers what is plain before the libraries below are defined (decision 0017).
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_booking_since.lua lib_booking_plain.lua lib_booking_quick.lua lib_booking_limit.lua lib_booking_state.lua lib_booking_place.lua lib_booking_replay.lua lib_booking_book.lua lib_booking_record.lua lib_booking_bucket.lua lib_booking_batch.lua
local RELEASE_LEASE = 60000000

local function release_valid_until(P, at)
  local ends = at + RELEASE_LEASE
  for i = 1, P.m do
    if P.alg[i] == FIXED then ends = min(ends, window_end(P, i, at)) end
  end
  return ends
end

-- Released, and nobody has said that it arrived: in its own windows it goes again uncharged, later it is a release
-- like any other. Outcome, slot, deciding limit, first received; whether the record changed.
local function released_before(P, S, r)
  if S.seen < release_valid_until(P, r.slot) then return NOW, r.slot, nil, false end
  local limit = impossible(P, r.cost)
  if limit then return IMPOSSIBLE, S.seen, limit, false end
  if may_release(P, S, r.cost) then
    charge(P, S, r.cost, nil)
    r.slot = S.seen
    return NOW, r.slot, nil, true
  end
  start_leak(S)
  anchor(P, S, max(S.seen, S.frozen, S.unknown))
  local outcome, slot, decided = book(P, S, r.cost, r.first, P.max_delay)
  if outcome == BEYOND then return outcome, slot, decided, false end
  r.state, r.gen, r.slot, r.epoch, r.leak, r.via, r.waits = BOOKED, r.gen + 1, slot, S.epoch, S.leak, 0, 0
  return outcome, slot, decided, true
end

local function repeated(P, b, S, r, bucket, id)
  local outcome, slot, limit, changed = DUPLICATE, r.slot, nil, false
  if r.state == BOOKED then
    outcome = AT
  elseif r.state == RELEASED then
    outcome, slot, limit, changed = released_before(P, S, r)
  end
  if changed then
    r.expires = keep_until(r.expires, max(r.slot, S.seen) + P.retention)
    save_record(bucket, id, r)
  end
  keep(b, changed, r.expires)
  answer(outcome, S, slot, r.gen, r.first, limit)
end

local function reserve_item(flags, P, b, bucket, digest, cost, id, first, after)
  local r, code, owner = find_record(bucket, id, b.tag, flags >= 4)
  if code then return refuse(code, owner) end
  local S, trouble = begin(b, P)
  if not S then return refuse(trouble) end
  if lost > 0 then mark_history_unknown(P, S, lost) end
  if r then
    local same = r.digest == digest
    -- Given back, or the caller names the generation that is over. A firing inside the release lease took a new
    -- generation of the same release.
    local over = same and (r.state == GIVEN_BACK or (after and r.state ~= BOOKED and r.gen <= after + r.waits))
    if not over then
      if same then return repeated(P, b, S, r, bucket, id) end
      keep(b, false, r.expires)
      return answer(CONFLICT, S, r.slot, r.gen, r.first)
    end
  end
  local known_first = first or (r and r.first) or S.seen
  local outcome, slot, limit = reserve_newcomer(P, S, cost, known_first, P.max_delay)
  if outcome > AT then
    keep(b, false, r and r.expires or LONG_AGO)
    if not r then return answer(outcome, S, slot, after or 0, known_first, limit) end
    return answer(outcome, S, slot, r.gen, outcome == BEYOND and known_first or r.first, limit)
  end
  local generation = after and (after + 1) % 4294967296 or 0
  if r then generation = max(generation, r.gen + 1) end
  local expires = keep_until(r and r.expires or LONG_AGO, max(slot, S.seen) + P.retention)
  local epoch, leak = 0, 0
  if outcome == AT then epoch, leak = S.epoch, S.leak end
  save_event(bucket, id, pack_record(outcome == AT and BOOKED or RELEASED, generation, slot, cost, known_first, digest,
                                     epoch, leak, 0, 0, 0, b.tag, expires), expires)
  keep(b, true, expires)
  answer(outcome, S, slot, generation, known_first, limit)
end

local pos, last = 1, #items
if answered then out[1], pos = out[1] .. answered, position end
while pos <= last do
  local flags, policy, row, bucket, digest, cost, id, first, after
  flags, policy, row, bucket, digest, cost, id, pos = unpack_bytes('<BBBBc8dBc0', items, pos)
  if flags % 2 == 1 then first, pos = unpack_bytes('<d', items, pos) end
  if flags % 4 >= 2 then after, pos = unpack_bytes('<I4', items, pos) end
  reserve_item(flags, policies[policy], books[row], bucket, digest, cost, id, first, after)
end
return finish() .. pack('<d', since)
end)() end)() end)() end)() end)()
