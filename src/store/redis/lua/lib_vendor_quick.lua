-- The grant of most acquires, written out: closures and tables of lib_vendor cost as much as a whole check. Taken where the
-- key is in use under these limits, nothing is frozen, held, lowered or over its lease, every window is the one that is
-- running, and all limits have room; whatever else is left to lib_vendor, which says the same of these too
-- (tests/conformance). Before: lib_clock.
do
  local unpacked, packed, sub, policy, text = struct.unpack, struct.pack, string.sub, ARGV[2], redis.call('GET', KEYS[1])
  if text and now == raw and #text > 47 then
    local form, seen, frozen, refused, strikes, synced, lowered, lowered_until, given, m =
      unpacked('<HI7I7I7BI7HI7I6B', text)
    local count, paced, concurrent, _, lease, _, _, place = unpacked('<BBHBddd', policy)
    local head, record = 48 + 28 * m, 20 + 6 * m
    local flying = #text + 1 - head
    local fits = form == 30257 and count == m and seen <= now and frozen <= now and strikes == 0 and lowered_until <= now
      and flying < 1024 * record and (concurrent == 0 or flying < concurrent * record)
    local lease_end = now + lease
    if fits and flying > 0 then
      local first, last = unpacked('<I7', text, head + 13), unpacked('<I7', text, #text - record + 14)
      fits = first > now
      if last > lease_end then lease_end = last end
    end
    local ends, left, body, costs, i = lease_end, 9007199254740992, '', '', 0
    while fits and i < m do
      i = i + 1
      local kind, limit, window, capacity, next_place = unpacked('<Bddd', policy, place)
      local time, value, hold, mark = unpacked('<I7I7I7I7', text, 20 + 28 * i)
      local cost, room = unpacked('<d', ARGV[3], 8 * i - 7), nil
      place = next_place
      if kind == 2 then
        fits = mark == window * 2 and time <= now and now < time + window and hold <= now and
          (cost == 0 or i ~= paced or (now - time) * limit >= value * window)
        value = value + cost
        room = limit - value
        if time + window > ends then ends = time + window end
      elseif kind == 1 then
        fits = mark == window * 2 + 1 and time <= now and hold <= now
        local refilled = (now - time) * limit
        value = (refilled >= value and 0 or value - refilled) + cost * window
        time = now
        room = math.floor((capacity * window - value) / window)
        local full = now + math.ceil(value / limit)
        if full > ends then ends = full end
      end
      fits = fits and room and room >= 0
      if fits then
        if room < left then left = room end
        body = body .. packed('<I7I7I7I7', time, value, hold, mark)
        costs = costs .. packed('<I6', cost)
      end
    end
    if fits then
      given = given + 1
      redis.call('SET', KEYS[1], packed('<HI7I7I7BI7HI7I6B', form, now, frozen, refused, strikes, synced, 0, lowered_until, given, m)
        .. body .. sub(text, head) .. packed('<I6I7I7', given, now, lease_end) .. costs,
        'PX', string.format('%d', math.ceil((ends + 60000000 - raw) / 1000)))
      return packed('<Bddddddd', 0, raw, now, 1, 0, given, left, 0)
    end
  end
end
