#!lua
-- done: released events have arrived. Of another generation, or not known: no effect.
-- KEYS, ARGV, reply: lib_booking_batch; no key rows, no policies.
-- Item    '<BBI4Bc0' flags (4 only if known here), bucket, generation, id
-- Answer  '<BBddI4d', of which only the first byte says something: 0
-- Why     a whole batch of deliveries is settled by one call.
-- Short   lib_booking_settle answers what is plain before the libraries below are defined (decision 0017).
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_booking_settle.lua lib_booking_limit.lua lib_booking_state.lua lib_booking_record.lua lib_booking_bucket.lua lib_booking_batch.lua
local function done_item(flags, bucket, generation, id)
  local bytes = load_event(bucket, id)
  local r, trouble
  if bytes then
    r, trouble = read_record(bytes)
    if not r then return refuse(TROUBLE[trouble .. '_record']) end
    if r.expires <= now then r = nil end
  end
  if not r then return refuse(flags >= 4 and UNKNOWN or 0) end
  -- A timer that fired within the lease took a new generation; the release it waits for is the older one.
  if r.state == RELEASED and generation <= r.gen and r.gen - generation <= r.waits then
    r.state = DONE
    save_record(bucket, id, r)
  end
  return refuse(0)
end

local pos = position
out[1] = out[1] .. settled_answers
while pos <= #items do
  local flags, bucket, generation, id
  flags, bucket, generation, id, pos = unpack_bytes('<BBI4Bc0', items, pos)
  done_item(flags, bucket, generation, id)
end
return finish()
end)() end)() end)()
