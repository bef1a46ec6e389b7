#!lua
-- freeze: nobody uses the key until then; the longest freeze wins.
-- KEYS    1: the key's row
-- ARGV    1: floor (lib_clock) · 2: until, '<d'
-- Reply   '<Bd' trouble or 0, now (lib_booking_key)
-- Why     compares and writes in one step; the freeze of a key without bookings is kept a day beyond its end.
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_booking_limit.lua lib_booking_state.lua lib_booking_key.lua
local S, trouble = load_key()
if not S then return refuse(trouble) end
local till = unpack_bytes('<d', ARGV[2])
if till > S.frozen then
  S.frozen = till
  S.expires = max(S.expires, till + 86400000000)
  save_key(S)
end
return accept()
end)()
