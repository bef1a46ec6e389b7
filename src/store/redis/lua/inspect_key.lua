#!lua
-- inspect_key: a booking key for a person. Changes nothing.
-- KEYS    1: the key's row
-- ARGV    1: floor (lib_clock) · 2: the policy (lib_booking_state)
-- Reply   '<Bd' trouble or 0, now (lib_booking_key); then '<ddddd' the key's now, frozen until, units pending, tail,
--         where a new event of cost 1 would go; then '<d' per limit: units released in the window that holds now
-- Why     the same place as reserve would find, by the same code.
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_booking_limit.lua lib_booking_state.lua lib_booking_place.lua lib_booking_replay.lua lib_booking_book.lua lib_booking_key.lua
local S, trouble = load_key()
if not S then return refuse(trouble) end
local P = read_policy(ARGV[2])
enter(P, S, max(now, S.seen))
local seen, frozen, pending, tail = S.seen, S.frozen, S.old + S.new, S.T.at
local out = {}
for i = 1, P.m do
  local units
  if P.alg[i] == LOG then
    units = log_units(P.W[i], S.F.log[i], nil, seen)
  else
    units = P.max[i] - room(P, S, S.F, i, seen, false)
  end
  out[i] = pack('<d', units)
end
local outcome, slot = reserve_newcomer(P, S, 1, seen, NEVER - seen)
if outcome == IMPOSSIBLE then slot = NEVER end
return accept() .. pack('<ddddd', seen, frozen, pending, tail, slot) .. table.concat(out)
end)() end)() end)()
