-- Looks at every charge of ARGV 3 and on. Needs lib_clock and lib_counter; written out, not in functions (there). After:
-- trouble    nil, or why nothing may be written: 2 a calendar window lacks its days, 3 a clock stepped back, 4 a text of
--            another format
-- taken      how many of the ARGV[2] equal requests are admitted
-- reply      [1] is still empty, then what Reply says of consume
-- after      by key: its text if `taken` are written, and lives: for how many ms. At least one second, and until it
--            means the same as none, by Redis' own clock, which may be behind `now`
-- adopted    nil, or by key: its text where nothing is taken but its numbers have changed, and outlives
local unpacked, packed, sub, byte, format = struct.unpack, struct.pack, string.sub, string.byte, string.format
local floor_of, ceil_of = math.floor, math.ceil
local trouble, requests = stepped and '3' or nil, ARGV[2] + 0
-- With their first places: a table that grows later costs a call 0.15 us each time.
local taken, reply, after, lives, adopted, outlives = requests, {'', false}, {false}, {false}, nil, nil
for i = 3, #ARGV do
  local key, kind, cost, limit, window, capacity, more = unpacked('<BBdddd', ARGV[i])
  local text = redis.call('GET', KEYS[key])
  local form, asked, times, ends, written = text and byte(text, 2) or 0, cost > 0 and cost or 1, 0, 0, nil
  local first_of_key = not lives[key]
  if form >= 97 and not ((form == 98 or form == 119 or form == 108) and byte(text) == 49) or
    text and form < 97 and not tonumber(text) then
    trouble = '4'
  elseif kind == 1 then
    -- core/token_bucket_math.h. Debt: what is missing to full, in 1/window of a unit.
    local full, code, debt, changes = capacity * window, sub(ARGV[i], more), 0, false
    if text and form ~= 119 and form ~= 108 then
      local arrival, rest, l, w, c = nil, 0, limit, window, capacity
      if form == 98 then
        arrival, rest, l, w, c = unpacked('<I7I7I6I7I6', text, 3)
      else
        local digits = sub(text, -4)
        arrival = tonumber(sub(text, 1, -5)) + 1600000000000000
        if digits ~= code then l, w, c = rare('numbers', digits + 0) end
      end
      if l == 0 then
        debt = rest * w
      elseif arrival >= now then
        debt = (arrival - now) * l + rest
        if debt > c * w + 5000000 * l then trouble = trouble or '3' end
      else
        debt = (arrival - now) * l + rest
        if debt < 0 then debt = 0 end
      end
      if l ~= limit or w ~= window or c ~= capacity then
        debt, changes = rare('converted', debt, w, c, limit, window, capacity), true
      end
    end
    if asked <= capacity and debt <= full then
      local left, unit = full - debt, asked * window
      times = floor_of(left / unit)
      if times * unit > left then times = times - 1 end
    end
    local units = times < requests and times * cost or requests * cost
    if changes and first_of_key then
      adopted, outlives = adopted or {}, outlives or {}
    end
    -- Once, or where the numbers have changed twice: as they are adopted, and as they are after an admission.
    for round = changes and 1 or 2, 2 do
      if round == 2 then debt = debt + units * window end
      local arrival, rest = now, 0
      if debt > 0 and limit > 0 then
        local whole = floor_of(debt / limit)
        rest = debt - whole * limit
        if rest < 0 then
          whole, rest = whole - 1, rest + limit
        elseif rest >= limit then
          whole, rest = whole + 1, rest - limit
        end
        arrival = now + whole
      end
      ends = rest > 0 and arrival + 1 or arrival
      if debt > 0 and limit == 0 then
        rest = ceil_of(debt / window)
        ends = 9000000000000000
      end
      if rest == 0 and code ~= '' then
        written = format('%d', arrival - 1600000000000000) .. code
      else
        written = '1b' .. packed('<I7I7I6I7I6', arrival, rest, limit, window, capacity)
      end
      if round == 1 and first_of_key then
        adopted[key] = written
        outlives[key] = format('%d', ceil_of(((ends < now + 1000000 and now + 1000000 or ends) - raw) / 1000))
      end
    end
    reply[i - 1] = text or ''
  elseif kind == 3 then
    -- core/sliding_log.cc
    local newest, span, live, at, first, size = nil, 0, 0, now, 0, 0
    if form == 108 then
      local units
      newest, span, units = unpacked('<I7I7I6', text, 3)
      first, size = #text, #text
      if newest - now > 5000000 then trouble = trouble or '3' end
      if newest + span > now then
        if newest > now then at = newest end
        first = 22
        local over = at - window
        while first < size do
          local entry, count = unpacked('<I7I6', text, first + 1)
          if entry > over then break end
          units, first = units - count, first + 13
        end
        live = units
        if span ~= window and first_of_key then
          adopted, outlives = adopted or {}, outlives or {}
          adopted[key] = sub(text, 1, 9) .. packed('<I7', window) .. sub(text, 17)
          local over_at = newest + window
          if over_at < now + 1000000 then over_at = now + 1000000 end
          outlives[key] = format('%d', ceil_of((over_at - raw) / 1000))
        end
      end
    end
    if live < limit then times = floor_of((limit - live) / asked) end
    local units = times < requests and times * cost or requests * cost
    local last, count = 0, 0
    if first < size then last, count = unpacked('<I7I6', text, size - 12) end
    ends = at + window
    if units == 0 then
      written = text or ''
    elseif last == at then
      written = '1l' .. packed('<I7I7I6', at, window, live + units) .. sub(text, first + 1, -14) ..
        packed('<I7I6', at, count + units)
    elseif first < size then
      written = '1l' .. packed('<I7I7I6', at, window, live + units) .. sub(text, first + 1) .. packed('<I7I6', at, units)
    else
      written = '1l' .. packed('<I7I7I6I7I6', at, window, units, at, units)
    end
    -- Of a long log the caller gets at most two entries, which answer the same: the first is where the wait of one more
    -- request ends after those admitted, the second the newest.
    if not newest or #text <= 256 then
      reply[i - 1] = text or ''
    else
      local leaves = live + (requests > 1 and units or 0) + asked - limit
      if first >= size then
        reply[i - 1] = '1l' .. packed('<I7I7I6', newest, span, live)
      elseif leaves <= 0 or leaves > live then
        reply[i - 1] = '1l' .. packed('<I7I7I6I7I6', newest, span, live, last, live)
      else
        local left, entry = 0, 0
        while left < leaves do
          entry, count = unpacked('<I7I6', text, first + 1)
          left, first = left + count, first + 13
        end
        reply[i - 1] = '1l' .. packed('<I7I7I6I7I6', newest, span, live, entry, left)
        if left < live then reply[i - 1] = reply[i - 1] .. packed('<I7I6', last, live - left) end
      end
    end
  else
    -- core/window_counter.cc. A calendar day's start and end are among those that the caller sent.
    local start, used, at, calendar = nil, 0, now, kind == 4 and 1 or 0
    if form == 119 then
      local units, length, days
      start, units, length, days = unpacked('<I7I6I7B', text, 3)
      if length ~= window or days ~= calendar then
        start = nil
      else
        used = units
        if start > now then
          if start - now > 5000000 then trouble = trouble or '3' end
          at = start
        end
      end
    end
    local begins = at - at % window
    ends = begins + window
    if calendar == 1 then
      begins, ends = nil, nil
      for day = more, #ARGV[i] - 8, 8 do
        local from, to = unpacked('<dd', ARGV[i], day)
        if from <= at and at < to then begins, ends = from, to end
      end
    end
    if not begins then
      trouble, ends = trouble or '2', now
    else
      if start ~= begins then used = 0 end
      if used < limit then times = floor_of((limit - used) / asked) end
      local units = times < requests and times * cost or requests * cost
      written = '1w' .. packed('<I7I6I7B', begins, used + units, window, calendar)
    end
    reply[i - 1] = text or ''
  end
  reply[i - 1] = reply[i - 1] or text or ''
  if times < taken then taken = times end
  -- Of several charges on one key the first one's numbers are written; they carry the same joint cost.
  if first_of_key then
    after[key] = cost > 0 and written or false
    if ends < now + 1000000 then ends = now + 1000000 end
    lives[key] = ceil_of((ends - raw) / 1000)
  end
end
if trouble then taken = 0 end
reply[1] = (trouble or '0') .. ' ' .. (taken == 0 and '0' or taken == 1 and '1' or taken) .. ' ' .. time[1] .. ' ' ..
  time[2]
