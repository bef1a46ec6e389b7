-- A call of up to 32 items of one hash tag, which answer as if they were asked one after another at the same instant.
-- Everything is read and decided first; rows and records are written at the end, each once.
--   KEYS    key rows, then buckets (lib_booking_bucket)
--   ARGV    1: floor (lib_clock) · 2: '<BB' how many key rows, how many policies · 3: the rows' tags, 8 bytes each · 4:
--           the items, one after another; each ends with its id and that id's length before it ('Bc0') · the policies
--           (lib_booking_state)
--   Reply   one string: '<Bd' 1 where the clock stepped back (nothing else follows, nothing was done), else 0, and
--           now; then an answer per item
-- An item is told apart by its answer's first byte. Below 16: an outcome of the call. MOVED: the id belongs to another
-- key, whose tag follows; ask there. UNKNOWN: it was to be asked only if known here. The rest are failures.
return (function()  -- closed at the end of the script (lib_booking_limit says why)
local MOVED, UNKNOWN, STEPPED, INVALID = 16, 17, 32, 33
local TROUBLE = { corrupt = 34, newer = 35, corrupt_record = 36, newer_record = 37 }
if stepped then return pack('<Bd', 1, raw) end
local rows, policy_count = unpack_bytes('<BB', ARGV[2])
local policies, books, out, items = {}, {}, { pack('<Bd', 0, now) }, ARGV[4]
for i = 1, policy_count do policies[i] = read_policy(ARGV[4 + i]) end
if rows > 0 then
  local texts = redis.call('MGET', unpack(KEYS, 1, rows))
  for row = 1, rows do
    local S, trouble = load_state(texts[row])
    books[row] = { S = S, trouble = trouble and TROUBLE[trouble], tag = string.sub(ARGV[3], row * 8 - 7, row * 8) }
  end
end

local function save_record(bucket, id, r)
  save_event(bucket, id, pack_record(r.state, r.gen, r.slot, r.cost, r.first, r.digest, r.epoch, r.leak, r.via,
                                     r.repairs, r.waits, r.tag, r.expires), r.expires)
end

-- What `keep` was told of the key since its policy changed, put into the state.
local function settle_key(b)
  if not b.keep then return end
  local S = b.S
  if b.changed or S.expires ~= LONG_AGO then
    S.expires = max(S.expires, state_expiry(b.P, S, S.seen), b.event_expires)
    b.dirty = true
  end
  b.keep = false
end
-- A key outlives every record of its events. Even a refusal moves the plan of a known key with the clock and the limits
-- in force; a key that nothing came of stays unknown.
local function keep(b, changed, event_expires)
  if changed then b.changed = true end
  b.event_expires = max(b.keep and b.event_expires or LONG_AGO, event_expires)
  b.keep = true
end
-- The key's state, entered under P; or nil and what is wrong. b.fresh: nothing was known of
-- the key. `held`: no step back of the clock is too large.
local function begin(b, P, held)
  if b.trouble then return nil, b.trouble end
  if b.P ~= P then
    settle_key(b)
    b.P = P
  end
  if b.S.expires <= now and not b.changed then b.S = new_state() end
  b.fresh = b.S.seen == LONG_AGO
  if not enter(P, b.S, held and max(now, b.S.seen) or now) then return nil, STEPPED end
  return b.S
end
-- The record of an id (nil: none), or nil and what to answer instead.
local function find_record(bucket, id, tag, only_known)
  local bytes = load_event(bucket, id)
  if bytes then
    local r, trouble = read_record(bytes)
    if not r then return nil, TROUBLE[trouble .. '_record'] end
    if r.expires > now then
      if r.tag ~= tag then return nil, MOVED, r.tag end
      return r
    end
  end
  if only_known then return nil, UNKNOWN end
end

local function answer(outcome, S, slot, generation, first, limit)
  out[#out + 1] = pack('<BBddI4d', outcome, limit or 0, S.seen, slot, generation, first)
end
local function refuse(code, tag)
  out[#out + 1] = pack('<BBddI4c8', code, 0, 0, 0, 0, tag or '\0\0\0\0\0\0\0\0')
end

local KEPT_LONGER = 10000000  -- us: Redis must not forget a row while its clock is clamped
local function finish()
  for row = 1, rows do
    local b = books[row]
    settle_key(b)
    if b.dirty then
      local kept = min(b.S.expires, now + KEPT_MAX * 1000000) + KEPT_LONGER
      redis.call('SET', KEYS[row], encode_state(b.S), 'PXAT', string.format('%.0f', math.ceil(kept / 1000)))
    end
  end
  write_events()
  return table.concat(out)
end
