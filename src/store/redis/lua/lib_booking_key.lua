-- What is said of a whole key. KEYS[1] is its row. Reply: one string, '<Bd' trouble or 0, and now; then the answer.
-- Needs lib_clock, lib_booking_limit, lib_booking_state.
local TROUBLE = { stepped = 1, corrupt = 34, newer = 35 }
local function refuse(trouble) return pack('<Bd', TROUBLE[trouble], stepped and raw or now) end
-- The state (a fresh one where it is expired or there is none); or nil and the trouble.
local function load_key()
  if stepped then return nil, 'stepped' end
  local S, trouble = load_state(redis.call('GET', KEYS[1]))
  if S and S.expires <= now then S = new_state() end
  return S, trouble
end
local function save_key(S)
  local kept = min(S.expires, now + 315360000000000) + 10000000
  redis.call('SET', KEYS[1], encode_state(S), 'PXAT', string.format('%.0f', math.ceil(kept / 1000)))
end
local function accept() return pack('<Bd', 0, now) end
