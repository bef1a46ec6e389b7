#!lua
-- forget (the port's reset of a booking key): counters and cursors start fresh. Event records stay, so that nothing is
-- delivered twice, and so does a freeze.
-- KEYS    1: the key's row
-- ARGV    1: floor (lib_clock)
-- Reply   '<Bd' trouble or 0, now (lib_booking_key)
-- Why     records of before must not find their bookings in the fresh state: it counts on from the old one's epochs.
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_booking_limit.lua lib_booking_state.lua lib_booking_key.lua
local old, trouble = load_key()
if not old then return refuse(trouble) end
if old.expires ~= LONG_AGO then
  local S = new_state()
  S.expires, S.seen, S.frozen = old.expires, old.seen, old.frozen
  S.epoch, S.leak = (old.epoch + 1) % 4294967296, (old.leak + 2) % 4294967296
  save_key(S)
end
return accept()
end)()
