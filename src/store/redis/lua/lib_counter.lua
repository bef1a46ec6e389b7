-- What a counter's text means and what one limit says to one request: core/counter.h in Lua. Needs lib_clock.
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
local EPOCH = 1600000000000000
local BUCKET, WINDOW, LOG, DAY = 1, 2, 3, 4
local HEAD, ENTRY = 22, 13
local NEEDS_DAYS, STEPPED_BACK, UNKNOWN_FORMAT = 2, 3, 4
local sub, format, floor_of, max = string.sub, string.format, math.floor, math.max
local unpacked, packed = struct.unpack, struct.pack
local trouble = stepped and STEPPED_BACK or nil

local function divide(a, b)
  local q = floor_of(a / b)
  local r = a - q * b
  if r < 0 then return q - 1, r + b end
  if r >= b then return q + 1, r - b end
  return q, r
end

-- a * b / c, rounded down, and the rest; the product may have 106 bits.
local function muldiv(a, b, c)
  local bits, whole, part = {}, divide(a, c)
  while b > 0 do
    local half = floor_of(b / 2)
    bits[#bits + 1] = b - 2 * half
    b = half
  end
  local q, r = 0, 0
  for i = #bits, 1, -1 do
    q, r = 2 * q + bits[i] * whole, 2 * r + bits[i] * part
    while r >= c do
      q, r = q + 1, r - c
    end
  end
  return q, r
end

-- Limit, window and capacity by their four digits: store/redis/counter_code.cc has the same tables.
local function numbers_of(code)
  local units = {1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 25, 30, 32, 40, 50, 60, 64, 75, 80, 100, 120, 125,
    150, 200, 240, 250, 300, 400, 500, 600, 750, 800, 1000, 1200, 1500, 2000, 2500, 3000, 4000, 5000, 6000, 7500,
    10000, 20000, 25000, 50000, 100000}
  local windows = {1000000, 60000000, 3600000000, 86400000000}
  local window, pair = divide(code, 2500)
  local limit, capacity = divide(pair, 50)
  return units[limit + 1], windows[window + 1], units[capacity + 1]
end

-- Arrival time, rest, limit, window, capacity; nil: not a bucket.
local function read_bucket(text)
  if sub(text, 2, 2) == 'b' then return unpacked('<I7I7I6I7I6', text, 3) end
  local arrival, code = tonumber(sub(text, 1, -5)), tonumber(sub(text, -4))
  if not arrival or not code then return nil end
  return arrival + EPOCH, 0, numbers_of(code)
end

-- Whether this format is ours; a text that is not a bucket under common numbers begins with its digit.
local function is_known(text)
  local kind = sub(text, 2, 2)
  if kind == 'b' or kind == 'w' or kind == 'l' then return sub(text, 1, 1) == '1' end
  return tonumber(text) ~= nil
end

-- core/token_bucket.cc, converted: the balance in units carries, clamped to the new capacity.
local function converted(debt, window, capacity, to)
  if debt == 0 then return 0 end
  local balance = capacity * window - debt
  if window ~= to.window then
    local whole, part = divide(balance, window)
    balance = whole * to.window + muldiv(part, to.window, window)
  end
  local result = max(to.capacity * to.window - balance, 0)
  if to.limit > 0 then return result end
  local whole, part = divide(result, to.window)
  return (part > 0 and whole + 1 or whole) * to.window
end

-- What is missing to full, in 1/window of a unit, under the text's own numbers.
local function debt_of(arrival, rest, limit, window, capacity)
  if limit == 0 then return rest * window end
  local debt = (arrival - now) * limit + rest
  if debt > capacity * window + CLAMP * limit then trouble = trouble or STEPPED_BACK end
  return max(debt, 0)
end

-- Each of these three: how often the charge fits, and in the charge what a write needs.
local function fits_bucket(c, text)
  local full = c.capacity * c.window
  c.debt = 0
  if text then
    local arrival, rest, limit, window, capacity = read_bucket(text)
    if arrival then
      c.debt = debt_of(arrival, rest, limit, window, capacity)
      if limit ~= c.limit or window ~= c.window or capacity ~= c.capacity then
        c.debt = converted(c.debt, window, capacity, c)
        c.adopts = true
      end
    end
  end
  if c.asked > c.capacity or c.debt > full then return 0 end
  return (divide(full - c.debt, c.asked * c.window))
end

local function fits_window(c, text)
  local start, used, at = nil, 0, now
  if text and sub(text, 2, 2) == 'w' then
    local window, calendar
    start, used, window, calendar = unpacked('<I7I6I7B', text, 3)
    if window ~= c.window or calendar ~= c.calendar then start = nil end
  end
  if start and start > now then
    if start - now > CLAMP then trouble = trouble or STEPPED_BACK end
    at = start
  end
  if c.calendar == 0 then
    c.start = at - at % c.window
    c.ends = c.start + c.window
  else
    local days = c.days
    local day = 1
    while days[day + 1] and days[day + 1] <= at do day = day + 1 end
    if not days[1] or days[1] > at or not days[day + 1] then
      trouble = trouble or NEEDS_DAYS
      return 0
    end
    c.start, c.ends = days[day], days[day + 1]
  end
  if start ~= c.start then used = 0 end
  c.used = used
  return used < c.limit and floor_of((c.limit - used) / c.asked) or 0
end

local function fits_log(c, text)
  c.at, c.live, c.first = now, 0, #(text or '')
  if text and sub(text, 2, 2) == 'l' then
    local newest, window, units = unpacked('<I7I7I6', text, 3)
    c.newest, c.written = newest, window
    if newest - now > CLAMP then trouble = trouble or STEPPED_BACK end
    if newest + window > now then
      c.adopts = window ~= c.window
      if newest > now then c.at = newest end
      c.live, c.first = units, HEAD
      while c.first < #text do
        local entry, count = unpacked('<I7I6', text, c.first + 1)
        if entry > c.at - c.window then break end
        c.live, c.first = c.live - count, c.first + ENTRY
      end
    end
  end
  return c.live < c.limit and floor_of((c.limit - c.live) / c.asked) or 0
end

-- A log as the caller needs it: at most two entries, which answer the same. The first is where the wait of one
-- more request ends after `taken` have been admitted, the last the newest.
local function digest(c, text, taken)
  if not c.newest then return text or '' end
  local head = '1l' .. packed('<I7I7I6', c.newest, c.written, c.live)
  if c.first >= #text then return head end
  local last = unpacked('<I7', text, #text - ENTRY + 1)
  local leaves = c.live + taken * c.cost + c.asked - c.limit
  if leaves <= 0 or leaves > c.live then return head .. packed('<I7I6', last, c.live) end
  local entry, count = unpacked('<I7I6', text, c.first + 1)
  local left, at = count, c.first + ENTRY
  while left < leaves do
    entry, count = unpacked('<I7I6', text, at + 1)
    left, at = left + count, at + ENTRY
  end
  if left == c.live then return head .. packed('<I7I6', entry, left) end
  return head .. packed('<I7I6I7I6', entry, left, last, c.live - left)
end

local function read_charge(argument)
  local c, at = {}, nil
  c.key, c.kind, c.cost, c.limit, c.window, c.capacity, at = unpacked('<BBdddd', argument)
  c.asked = c.cost > 0 and c.cost or 1
  if c.kind == BUCKET then
    c.code = sub(argument, at)
  elseif c.kind == DAY then
    c.calendar, c.days = 1, {}
    for i = at, #argument, 8 do c.days[#c.days + 1] = unpacked('<d', argument, i) end
  else
    c.calendar = 0
  end
  return c
end

-- How often the charge fits; 0 wherever there is `trouble`.
local function fits(c, text)
  if text and not is_known(text) then
    trouble = UNKNOWN_FORMAT
    return 0
  end
  if c.kind == BUCKET then return fits_bucket(c, text) end
  if c.kind == LOG then return fits_log(c, text) end
  return fits_window(c, text)
end
