#!lua
-- claim: event ids become those of the key that asks first, under whichever of a stream's partitions it is
-- (docs/decisions/0012). Asked again, the same answer.
-- KEYS    buckets of claims (lib_booking_bucket)
-- ARGV    1: floor (lib_clock) · 4: the items (as of lib_booking_batch): '<BBI4c8c8Bc0' flags (1 claim it if nobody has,
--         2 also if the key that is named second has it), bucket, kept for so many s, the asking key's tag, the second
--         one's, id
-- Reply   as of lib_booking_batch; answer '<BBddI4c8' 0: it is the asking key's; 16: another key's, whose tag is last;
--         17: nobody's. Second byte: 1 where the other key claimed it less than a minute ago.
-- Why     the id and its key may be in different slots of a cluster; this is the one place that all keys ask.
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_booking_limit.lua lib_booking_claim.lua lib_booking_bucket.lua
if stepped then return pack('<Bd', 1, raw) end
local YOUNG, OWN, MOVED, UNKNOWN, CORRUPT, NOBODY = 60, 0, 16, 17, 36, '\0\0\0\0\0\0\0\0'
local seconds, out = floor(now / 1000000), { pack('<Bd', 0, now) }
local function answer(code, young, tag) out[#out + 1] = pack('<BBddI4c8', code, young, 0, 0, 0, tag) end

local function claim_item(flags, bucket, kept, tag, former, id)
  local bytes = load_event(bucket, id)
  local c
  if bytes then
    c = read_claim(bytes)
    if not c then return answer(CORRUPT, 0, NOBODY) end
    if c.expires <= now then c = nil end
  end
  if c and c.tag ~= tag and not (flags >= 2 and c.tag == former) then
    return answer(MOVED, seconds - c.since < YOUNG and 1 or 0, c.tag)
  end
  if not c and flags == 0 then return answer(UNKNOWN, 0, NOBODY) end
  local own = c and c.tag == tag
  if flags > 0 and (not own or c.expires < (seconds + kept / 2) * 1000000) then
    local ends = seconds + kept
    save_event(bucket, id, pack(CLAIM, 16, tag, own and c.since or seconds, ends), ends * 1000000)
  end
  return answer(OWN, 0, NOBODY)
end

local items, pos = ARGV[4], 1
while pos <= #items do
  local flags, bucket, kept, tag, former, id
  flags, bucket, kept, tag, former, id, pos = unpack_bytes('<BBI4c8c8Bc0', items, pos)
  claim_item(flags, bucket, kept, tag, former, id)
end
write_events()
return table.concat(out)
