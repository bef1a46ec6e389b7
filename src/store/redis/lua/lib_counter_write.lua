-- Writes counters after all is decided. Needs lib_counter. Every key lives until it means the same as none, by
-- Redis' own clock, which may be behind `now`; at least one second.
local FOREVER = 4000000000000

local function lifetime(ends)
  return math.ceil((max(ends, now + 1000000) - raw) / 1000)
end

-- core/token_bucket_math.h, stored; the text and until when it matters.
local function bucket_text(debt, limit, window, capacity, code)
  local arrival, rest = now, 0
  if debt > 0 and limit == 0 then
    local whole, part = divide(debt, window)
    return '1b' .. packed('<I7I7I6I7I6', 0, part > 0 and whole + 1 or whole, limit, window, capacity)
  elseif debt > 0 then
    arrival, rest = divide(debt, limit)
    arrival = arrival + now
  end
  if rest == 0 and code ~= '' then return format('%.0f', arrival - EPOCH) .. code, arrival end
  return '1b' .. packed('<I7I7I6I7I6', arrival, rest, limit, window, capacity), arrival + (rest > 0 and 1 or 0)
end

local function log_text(c, text, units)
  local head = '1l' .. packed('<I7I7I6', c.at, c.window, c.live + units)
  if c.first >= #(text or '') then return head .. packed('<I7I6', c.at, units) end
  local last, count = unpacked('<I7I6', text, #text - ENTRY + 1)
  if last ~= c.at then return head .. sub(text, c.first + 1) .. packed('<I7I6', c.at, units) end
  return head .. sub(text, c.first + 1, -ENTRY - 1) .. packed('<I7I6', last, count + units)
end

-- The counter after `units` were taken.
local function take(c, key, text, units)
  local after, ends
  if c.kind == BUCKET then
    after, ends = bucket_text(c.debt + units * c.window, c.limit, c.window, c.capacity, c.code)
  elseif c.kind == LOG then
    after, ends = log_text(c, text, units), c.at + c.window
  else
    after, ends = '1w' .. packed('<I7I6I7B', c.start, c.used + units, c.window, c.calendar), c.ends
  end
  redis.call('SET', key, after, 'PX', ends and lifetime(ends) or FOREVER)
end

-- A refused request under changed numbers: from now on they count.
local function adopt(c, key, text)
  local after, ends
  if c.kind == BUCKET then
    after, ends = bucket_text(c.debt, c.limit, c.window, c.capacity, c.code)
  else
    after, ends = sub(text, 1, 9) .. packed('<I7', c.window) .. sub(text, 17), c.newest + c.window
  end
  redis.call('SET', key, after, 'PX', ends and lifetime(ends) or FOREVER)
end
