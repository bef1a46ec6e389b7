-- What a counter's text means and what one limit says to one request: core/counter.h in Lua.
--
-- Texts, format 1; numbers are little-endian. A text of another format is an error, never a fresh counter.
--   digits              a bucket under common numbers: arrival time in us since EPOCH, then the four digits that
--                       name limit, window and capacity (counter_code.h). Redis keeps it as one integer
--   "1b" 7 7 6 7 6      any other bucket: arrival time, rest, limit, window, capacity
--   "1w" 7 6 7 1        a window: start, units used, length, 1 if it is a calendar day
--   "1l" 7 7 6 (7 6)*   a log: time of the newest admission, window, units, then time and units of each entry
--
-- A charge is one packed argument "<BBdddd": key (index into KEYS), kind, cost, limit, window, capacity; then
-- the digits of a bucket under common numbers, or (kind DAY) doubles: the starts of the days around the time.
--
-- Products stay below 2^53 (the caller refuses larger ones), so doubles are exact.
--
-- Functions, and locals that functions use, cost every call of a script some tenths of a microsecond. So what every
-- call does is written out in lib_counter_look, with plain numbers: 1600000000000000 is EPOCH, 49 a format digit, 98,
-- 119 and 108 the letters b, w and l, 22 and 13 the sizes of a log's head and entry, 5000000 CLAMP.
--
-- Here is what is seldom needed. "muldiv": a * b / c, rounded down, and the rest; the product may have 106 bits.
-- "numbers": limit, window and capacity by their digits (store/redis/counter_code.cc has the same tables).
-- "converted": a debt of a bucket with window b and capacity c under other numbers (core/token_bucket.cc, converted):
-- the balance in units carries, clamped to the new capacity.
local function rare(what, a, b, c, limit, window, capacity)
  local function divide(x, y)
    local q = math.floor(x / y)
    local r = x - q * y
    if r < 0 then return q - 1, r + y end
    if r >= y then return q + 1, r - y end
    return q, r
  end
  local function muldiv(x, y, z)
    local bits, whole, part = {}, divide(x, z)
    while y > 0 do
      local half = math.floor(y / 2)
      bits[#bits + 1] = y - 2 * half
      y = half
    end
    local q, r = 0, 0
    for i = #bits, 1, -1 do
      q, r = 2 * q + bits[i] * whole, 2 * r + bits[i] * part
      while r >= z do
        q, r = q + 1, r - z
      end
    end
    return q, r
  end
  if what == 'muldiv' then return muldiv(a, b, c) end
  if what == 'numbers' then
    local units = {1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 25, 30, 32, 40, 50, 60, 64, 75, 80, 100, 120, 125,
      150, 200, 240, 250, 300, 400, 500, 600, 750, 800, 1000, 1200, 1500, 2000, 2500, 3000, 4000, 5000, 6000,
      7500, 10000, 20000, 25000, 50000, 100000}
    local windows = {1000000, 60000000, 3600000000, 86400000000}
    local unit, pair = divide(a, 2500)
    local refill, burst = divide(pair, 50)
    return units[refill + 1], windows[unit + 1], units[burst + 1]
  end
  if a == 0 then return 0 end
  local balance = c * b - a
  if b ~= window then
    local whole, part = divide(balance, b)
    balance = whole * window + muldiv(part, window, b)
  end
  local result = math.max(capacity * window - balance, 0)
  if limit > 0 then return result end
  local whole, part = divide(result, window)
  return (part > 0 and whole + 1 or whole) * window
end
