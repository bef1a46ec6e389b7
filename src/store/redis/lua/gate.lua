#!lua
-- gate: the second check, when a timer fires: actual time counts, not the plan (core/booking_gate.cc). May be repeated:
-- a ticket's generation counts once.
-- KEYS, ARGV, reply: lib_booking_batch.
-- Item    '<BBBBc8ddI4dBc0' flags (4 only if known here), policy, key row, bucket, and the ticket: body digest, cost,
--         first received, generation, slot, id
-- Answer  '<BBddI4d' outcome (0 go, 1 rebook, 2 beyond the horizon, 3 impossible, 4 duplicate), deciding limit (from 1;
--         0: what the slot says), now, slot, generation, first received
-- Why     timers of a hot key fire together: up to 32 share one reading and one writing of the key.
-- Short   lib_booking_fire answers what is plain before the libraries below are defined (decision 0017).
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_booking_plain.lua lib_booking_fire.lua lib_booking_limit.lua lib_booking_state.lua lib_booking_place.lua lib_booking_replay.lua lib_booking_book.lua lib_booking_record.lua lib_booking_bucket.lua lib_booking_again.lua lib_booking_batch.lua
local RELEASE_LEASE, WAITS_MAX = 60000000, 255
local GO, REBOOK, BEYOND, IMPOSSIBLE, DUPLICATE = 0, 1, 2, 3, 4

local function rebook(P, S, r, booked)
  local from = max(S.seen, S.frozen)
  if booked then unbook(P, S, r) else start_leak(S) end
  anchor(P, S, from)
  local slot, mover, via = search_again(P, S, r, from)
  if booked then resolve(S, r) end
  if slot - r.first > P.max_delay then
    r.state, r.slot = DEAD, slot
    return BEYOND, slot, mover
  end
  book_again(P, S, r, slot, via)
  r.gen = (r.gen + 1) % 4294967296
  return REBOOK, slot, mover
end

local function decide(P, S, r)
  local booked = r.state == BOOKED
  if may_release(P, S, r.cost) then
    charge(P, S, r.cost, booked and r or nil)
    if booked then resolve(S, r) end
    r.state, r.slot, r.waits = RELEASED, S.seen, 0
    return GO, r.slot
  end
  local limit = impossible(P, r.cost)
  if not limit then return rebook(P, S, r, booked) end
  if booked then
    unbook(P, S, r)
    resolve(S, r)
  end
  r.state, r.slot = DEAD, r.first  -- there never was one; one beyond the horizon lies later
  return IMPOSSIBLE, r.slot, limit
end

-- Outcome, slot, deciding limit; whether the record changed.
local function fire(P, S, r, generation)
  local due = r.state == RELEASED and r.slot + RELEASE_LEASE or r.slot
  if r.gen ~= generation then return false, DUPLICATE, due end
  if r.state == BOOKED then
    if S.seen >= r.slot then return true, decide(P, S, r) end
    r.gen = (r.gen + 1) % 4294967296  -- early: the same slot, not a move
    return true, REBOOK, r.slot
  elseif r.state == RELEASED then
    if S.seen >= due then return true, decide(P, S, r) end
    r.gen, r.waits = (r.gen + 1) % 4294967296, min(r.waits + 1, WAITS_MAX)
    return true, REBOOK, due
  elseif r.state == DEAD then  -- whoever was told first may have died before writing it down
    if r.slot > r.first then return false, BEYOND, r.slot end
    return false, IMPOSSIBLE, r.slot, impossible(P, r.cost) or 1
  end
  return false, DUPLICATE, r.slot
end

local function gate_item(flags, P, b, bucket, digest, cost, first, generation, slot, id)
  local r, code, owner = find_record(bucket, id, b.tag, flags >= 4)
  if code then return refuse(code, owner) end
  if not r and cost < 1 then return refuse(INVALID) end
  local S, trouble = begin(b, P)
  if not S then return refuse(trouble) end
  local unheard = not r
  if unheard then  -- the ticket is the reservation: it stands in no cursor, but it is pending
    if b.fresh then mark_history_unknown(P, S, S.seen) end
    r = { state = BOOKED, gen = generation, slot = slot, cost = cost, first = first, digest = digest, tag = b.tag,
          epoch = (S.epoch - 1) % 4294967296, leak = S.leak, via = 0, repairs = 0, waits = 0, expires = LONG_AGO }
    start_leak(S)
    S.new = S.new + cost
  end
  local changed, outcome, at, limit = fire(P, S, r, generation)
  if changed or unheard then
    r.expires = keep_until(r.expires, max(r.slot, S.seen) + P.retention)
    save_record(bucket, id, r)
  end
  keep(b, changed or unheard, r.expires)
  settle_key(b)
  answer(outcome, S, at, r.gen, r.first, limit)
end

local pos = 1
if answered then out[1], pos = out[1] .. answered, position end
while pos <= #items do
  local flags, policy, row, bucket, digest, cost, first, generation, slot, id
  flags, policy, row, bucket, digest, cost, first, generation, slot, id, pos =
    unpack_bytes('<BBBBc8ddI4dBc0', items, pos)
  gate_item(flags, policies[policy], books[row], bucket, digest, cost, first, generation, slot, id)
end
return finish()
end)() end)() end)() end)() end)()
