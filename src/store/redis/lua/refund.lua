#!lua
-- refund: gives units back that were taken at one time, once per request id and never into a later window.
-- KEYS    the counters, each once, then the record of the request id (one hash tag)
-- ARGV    1: floor (lib_clock) · 2: when they were taken (us) · 3: until when the record matters (us) ·
--         then two each: the packed charge (lib_counter) followed by two doubles, from when on it gives nothing
--         back (us) and of a window its start; and "-" or, to undo a request that was refused elsewhere, the
--         counter's text before it (none: empty)
-- Reply   {trouble or 0, 1 if anything was given back, seconds, us, then the texts of unknown format}
-- Why     idempotent: a refund that timed out may be asked again.
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_counter.lua lib_counter_write.lua
local taken_at, record = ARGV[2] + 0, KEYS[#KEYS]
local texts = redis.call('MGET', unpack(KEYS))
local reply, after = {trouble or 0, 0, time[1], time[2]}, {}

-- Each of these three: the text after (none left: empty), nil where nothing can be given back.
-- core/token_bucket.cc, refund: what is certain to be still missing because of the charge, under the text's own
-- numbers. What was refilled since, at the faster of the rates then and now, is not given a second time.
local function refund_bucket(c, text)
  local arrival, rest, limit, window, capacity = read_bucket(text)
  if not arrival then return nil end
  local debt = debt_of(arrival, rest, limit, window, capacity)
  local since = max(0, now - taken_at)
  local refilled, part = muldiv(since * c.limit, window, c.window)
  refilled = max(since * limit, part > 0 and refilled + 1 or refilled)
  local owed = c.cost * window - refilled
  if owed <= 0 or debt == 0 then return nil end
  if owed >= debt then return '' end
  return (bucket_text(debt - owed, limit, window, capacity, sub(text, 2, 2) == 'b' and '' or sub(text, -4)))
end

-- With 0 units left it is kept: a clock that steps back over its edge must find it.
local function refund_window(c, text, before)
  if sub(text, 2, 2) ~= 'w' then return nil end
  local start, used, window, calendar = unpacked('<I7I6I7B', text, 3)
  if window ~= c.window or calendar ~= c.calendar or start ~= c.start or used == 0 then return nil end
  if used <= c.cost and before ~= '-' then return before end
  return '1w' .. packed('<I7I6I7B', start, max(0, used - c.cost), window, calendar)
end

local function refund_log(c, text, before)
  if sub(text, 2, 2) ~= 'l' then return nil end
  local newest, window, units = unpacked('<I7I7I6', text, 3)
  if taken_at <= max(now, newest) - window then return nil end
  for at = #text - ENTRY, HEAD, -ENTRY do
    local entry, count = unpacked('<I7I6', text, at + 1)
    if entry < taken_at then return nil end
    if entry == taken_at then
      local given = math.min(c.cost, count)
      local left = count > given and packed('<I7I6', entry, count - given) or ''
      if before ~= '-' and left == '' and newest == taken_at then
        if before == '' and #text == HEAD + ENTRY then return '' end
        newest = sub(before, 2, 2) == 'l' and unpacked('<I7', before, 3) or newest
      end
      return '1l' .. packed('<I7I7I6', newest, window, units - given) .. sub(text, HEAD + 1, at) .. left ..
        sub(text, at + ENTRY + 1)
    end
  end
  return nil
end

local function refunded(c, text, before, over_at)
  if not text or c.cost <= 0 or now >= over_at then return nil end
  if c.kind == BUCKET then return refund_bucket(c, text) end
  if c.kind == LOG then return refund_log(c, text, before) end
  return refund_window(c, text, before)
end

for i = 4, #ARGV, 2 do
  local c = read_charge(ARGV[i])
  local text = texts[c.key]
  if text and not is_known(text) then
    trouble = UNKNOWN_FORMAT
    reply[#reply + 1] = text
  elseif not trouble and not texts[#KEYS] then
    local over_at, start = unpacked('<dd', ARGV[i], #ARGV[i] - 15)
    c.start = start
    after[c.key] = refunded(c, after[c.key] or text, ARGV[i + 1], over_at) or after[c.key]
  end
end
reply[1] = trouble or 0
if trouble then return reply end
for key, text in pairs(after) do
  if text == '' then
    redis.call('DEL', KEYS[key])
  else
    redis.call('SET', KEYS[key], text, 'KEEPTTL')
  end
  reply[2] = 1
end
if reply[2] == 1 then redis.call('SET', record, '1', 'PX', lifetime(ARGV[3] + 0)) end
return reply
