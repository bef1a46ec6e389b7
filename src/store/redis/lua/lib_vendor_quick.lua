-- The grant of most acquires, written out: closures and tables of lib_vendor cost as much as a whole check. Taken where the
-- key is in use under these limits, nothing is held, lowered or over its lease, nothing is frozen or was in the paced
-- window, every window is the one that is running, and all limits have room; whatever else is left to lib_vendor, which
-- says the same of these too (tests/conformance). One limit is read and written in one go, several in a loop. Before:
-- lib_clock, and the start of ARGV[1] in locals (vendor_acquire).
do
  local packed, sub, text = struct.pack, string.sub, redis.call('GET', KEYS[1])
  if text and now == raw and #text > 81 then
    local form, seen, frozen, refused, strikes, synced, lowered, lowered_until, given, told, count, time, value, hold, mark =
      unpacked('<HI7I7I7BI7HI7I6I7BI7I7I7I7', text)
    local head, record = 55 + 28 * m, 20 + 6 * m
    local flying = #text + 1 - head
    local fits = count == m and m > 0 and form == 30257 and seen <= now and frozen <= now and strikes == 0
      and lowered_until <= now and flying < 1024 * record and (concurrent == 0 or flying < concurrent * record)
    local lease_end = now + lease
    if fits and flying > 0 then
      fits = unpacked('<I7', text, head + 13) > now
      local last = unpacked('<I7', text, #text - record + 14)
      if last > lease_end then lease_end = last end
    end
    local ends, left, limits_text, costs, i = told > lease_end and told or lease_end, 9007199254740992, '', '', 1
    while fits do
      if i > 1 then
        kind, limit, window, capacity, place = unpacked('<Bddd', policy, place)
        time, value, hold, mark = unpacked('<I7I7I7I7', text, 27 + 28 * i)
      end
      if m > 1 then cost = unpacked('<d', policy, #policy - 40 - 8 * (m - i) - 7) end
      local room = -1
      if kind == 2 and mark == window * 2 and time <= now and now < time + window and hold <= now and (i ~= paced
        or frozen < time and (cost == 0 or (now - time) * limit >= value * (window - (window < 1000000 and math.floor(window / 4) or 250000)))) then
        value = value + cost
        room = limit - value
        if time + window > ends then ends = time + window end
      elseif kind == 1 and mark == window * 2 + 1 and time <= now and hold <= now then
        local refilled = (now - time) * limit
        value = (refilled >= value and 0 or value - refilled) + cost * window
        time = now
        room = math.floor((capacity * window - value) / window)
        local full = now + math.ceil(value / limit)
        if full > ends then ends = full end
      end
      fits = room >= 0
      if room < left then left = room end
      if m == 1 or not fits then break end
      limits_text = limits_text .. packed('<I7I7I7I7', time, value, hold, mark)
      costs = costs .. packed('<I6', cost)
      if i == m then break end
      i = i + 1
    end
    if fits then
      given = given + 1
      local after
      if m == 1 then
        after = packed('<HI7I7I7BI7HI7I6I7BI7I7I7I7', form, now, frozen, refused, 0, synced, 0, lowered_until, given, told, 1,
          time, value, hold, mark) .. sub(text, head) .. packed('<I6I7I7I6', given, now, lease_end, cost)
      else
        after = packed('<HI7I7I7BI7HI7I6I7B', form, now, frozen, refused, 0, synced, 0, lowered_until, given, told, m)
          .. limits_text .. sub(text, head) .. packed('<I6I7I7', given, now, lease_end) .. costs
      end
      redis.call('PSETEX', KEYS[1], string.format('%d', math.ceil((ends + 60000000 - raw) / 1000)), after)
      return packed('<Bddddddd', 0, raw, now, 1, 0, given, left, 0)
    end
  end
end
