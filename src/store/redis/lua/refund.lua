#!lua
-- refund: gives units back that were taken at one time, once per request id and never into a later window.
-- KEYS    the counters, each once, then the record of the request id (one hash tag)
-- ARGV    1: floor (lib_clock) · 2: when they were taken (us) · 3: until when the record matters (us) ·
--         then two each: the packed charge (lib_counter) followed by two doubles, from when on it gives nothing
--         back (us) and of a window its start; and "-" or, to undo a request that was refused elsewhere, the
--         counter's text before it (none: empty)
-- Reply   {"trouble given seconds us" (given: 1 if anything was), then the texts of unknown format}
-- Why     idempotent: a refund that timed out may be asked again. The id is spent also where nothing was given back:
--         else a key that was reset and used again would give at the second asking, on one of several nodes.
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_counter.lua
local taken_at, record = ARGV[2] + 0, KEYS[#KEYS]
local sub, byte, max, unpacked, packed = string.sub, string.byte, math.max, struct.unpack, struct.pack
local trouble = stepped and '3' or nil
local texts, reply, after, given = redis.call('MGET', unpack(KEYS)), {''}, {}, '0'

-- Each of these three: the text after (none left: empty), nil where nothing can be given back.
-- core/token_bucket.cc, refund: what is certain to be still missing because of the charge, under the text's own
-- numbers. What was refilled since, at the faster of the rates then and now, is not given a second time.
local function refund_bucket(text, cost, limit, window)
  local arrival, rest, l, w, c, code = nil, 0, nil, nil, nil, ''
  if byte(text, 2) == 98 then
    arrival, rest, l, w, c = unpacked('<I7I7I6I7I6', text, 3)
  elseif byte(text, 2) < 97 then
    code = sub(text, -4)
    arrival = tonumber(sub(text, 1, -5)) + 1600000000000000
    l, w, c = rare('numbers', code + 0)
  else
    return nil
  end
  local debt = l == 0 and rest * w or (arrival - now) * l + rest
  local since = max(0, now - taken_at)
  local refilled, part = rare('muldiv', since * limit, w, window)
  refilled = max(since * l, part > 0 and refilled + 1 or refilled)
  local owed = cost * w - refilled
  if owed <= 0 or debt <= 0 then return nil end
  if owed >= debt then return '' end
  local whole, left = rare('muldiv', debt - owed, 1, l == 0 and w or l)
  if l == 0 then return '1b' .. packed('<I7I7I6I7I6', now, left > 0 and whole + 1 or whole, l, w, c) end
  if left == 0 and code ~= '' then return string.format('%d', now + whole - 1600000000000000) .. code end
  return '1b' .. packed('<I7I7I6I7I6', now + whole, left, l, w, c)
end

-- With 0 units left it is kept: a clock that steps back over its edge must find it.
local function refund_window(text, cost, begins, length, days, before)
  if byte(text, 2) ~= 119 then return nil end
  local start, used, window, calendar = unpacked('<I7I6I7B', text, 3)
  if window ~= length or calendar ~= days or start ~= begins or used == 0 then return nil end
  if used <= cost and before ~= '-' then return before end
  return '1w' .. packed('<I7I6I7B', start, max(0, used - cost), window, calendar)
end

-- core/sliding_log.cc, refund: what was admitted from `taken_at` to kTakenLaterMax (250000) later, the
-- earliest first; to undo, at that time only.
local function refund_log(text, cost, before)
  if byte(text, 2) ~= 108 then return nil end
  local newest, window, units = unpacked('<I7I7I6', text, 3)
  if taken_at <= max(now, newest) - window then return nil end
  local from = #text
  while from > 22 and unpacked('<I7', text, from - 12) >= taken_at do from = from - 13 end
  local upto, rest, left = from, cost, ''
  while upto < #text and rest > 0 and left == '' do
    local entry, count = unpacked('<I7I6', text, upto + 1)
    if entry > (before == '-' and taken_at + 250000 or taken_at) then break end
    if count > rest then left = packed('<I7I6', entry, count - rest) end
    upto, rest = upto + 13, max(0, rest - count)
  end
  if rest == cost then return nil end
  if before ~= '-' and left == '' and newest == taken_at then
    if before == '' and #text == 35 then return '' end
    newest = byte(before, 2) == 108 and unpacked('<I7', before, 3) or newest
  end
  return '1l' .. packed('<I7I7I6', newest, window, units - cost + rest) .. sub(text, 23, from) .. left .. sub(text, upto + 1)
end

for i = 4, #ARGV, 2 do
  local key, kind, cost, limit, window = unpacked('<BBddd', ARGV[i])
  local over_at, begins = unpacked('<dd', ARGV[i], #ARGV[i] - 15)
  local text = texts[key]
  local form = text and byte(text, 2) or 0
  if form >= 97 and not ((form == 98 or form == 119 or form == 108) and byte(text) == 49) or
    text and form < 97 and not tonumber(text) then
    trouble, reply[#reply + 1] = '4', text
  elseif text and not texts[#KEYS] and cost > 0 and now < over_at then
    text = after[key] or text
    local before, left = ARGV[i + 1], nil
    if text == '' then
      left = nil -- given back whole by an earlier charge
    elseif kind == 1 then
      left = refund_bucket(text, cost, limit, window)
    elseif kind == 3 then
      left = refund_log(text, cost, before)
    else
      left = refund_window(text, cost, begins, window, kind == 4 and 1 or 0, before)
    end
    after[key] = left or after[key]
  end
end
if not trouble then
  for key, text in pairs(after) do
    if text == '' then
      redis.call('DEL', KEYS[key])
    else
      redis.call('SET', KEYS[key], text, 'KEEPTTL')
    end
    given = '1'
  end
  if not texts[#KEYS] and now < ARGV[3] + 0 then
    redis.call('SET', record, '1', 'PX', string.format('%d', max(1000, math.ceil((ARGV[3] - raw) / 1000))))
  end
end
reply[1] = (trouble or '0') .. ' ' .. given .. ' ' .. time[1] .. ' ' .. time[2]
return reply
