#!lua
-- thaw: ends a freeze.
-- KEYS    1: the key's row
-- ARGV    1: floor (lib_clock)
-- Reply   '<Bd' trouble or 0, now (lib_booking_key)
-- Why     changes one number of a packed state.
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_booking_limit.lua lib_booking_state.lua lib_booking_key.lua
local S, trouble = load_key()
if not S then return refuse(trouble) end
if S.frozen ~= LONG_AGO then
  S.frozen = LONG_AGO
  save_key(S)
end
return accept()
end)()
