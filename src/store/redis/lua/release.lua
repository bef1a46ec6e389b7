#!lua
-- release: bookings are given back: their units return to every window that also holds the tail. Of another generation,
-- not booked, or not known: no effect.
-- KEYS, ARGV, reply: lib_booking_batch.
-- Item    '<BBBBI4Bc0' flags (4 only if known here), policy, key row, bucket, generation, id
-- Answer  '<BBddI4d', of which only the first byte says something: 0
-- Why     reading, giving back and writing are one step, so that no other booking comes in between.
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_booking_limit.lua lib_booking_state.lua lib_booking_place.lua lib_booking_replay.lua lib_booking_book.lua lib_booking_record.lua lib_booking_bucket.lua lib_booking_again.lua lib_booking_batch.lua
local function release_item(flags, P, b, bucket, generation, id)
  local r, code, owner = find_record(bucket, id, b.tag, flags >= 4)
  if code then return refuse(code, owner) end
  if not r or r.state ~= BOOKED or r.gen ~= generation then return refuse(0) end
  -- Giving back exceeds nothing, so a clock that stepped back further than the clamp does not refuse it.
  local S, trouble = begin(b, P, true)
  if not S then return refuse(trouble) end
  unbook(P, S, r)
  resolve(S, r)
  r.state = GIVEN_BACK
  save_record(bucket, id, r)
  keep(b, true, r.expires)
  settle_key(b)
  return refuse(0)
end

local pos = 1
while pos <= #items do
  local flags, policy, row, bucket, generation, id
  flags, policy, row, bucket, generation, id, pos = unpack_bytes('<BBBBI4Bc0', items, pos)
  release_item(flags, policies[policy], books[row], bucket, generation, id)
end
return finish()
end)() end)() end)() end)() end)()
