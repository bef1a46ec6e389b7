-- Event records.
-- Record, by the low digit of its first byte (the high one is the format, 1): state (0 booked, 1 released, 2 done,
-- 3 given back, 4 dead letter) + 0 or 5: short, how long it is kept beyond the slot in s or us; + 10: wide. 15: a first
-- booking of cost 1, as most are.
return (function()  -- closed at the end of the script (lib_booking_limit says why)
local FIRST = '<Bc8c8I7I5I3I4I2'
local SHORT, FINE, WIDE = '<BBBBc8c8I7I5I3I4I2', '<BBBBc8c8I7I5I6I4I2', '<BI2I4dc8c8dddI4I4'
local BOOKED, RELEASED, DONE, GIVEN_BACK, DEAD = 0, 1, 2, 3, 4
local function read_record(bytes)
  local head = string.byte(bytes) or 0
  local low = head % 16
  if head - low ~= 16 then return nil, head >= 32 and 'newer' or 'corrupt' end
  local variant = floor(low / 5)
  if #bytes ~= (variant == 0 and 41 or variant == 1 and 44 or variant == 2 and 63 or 38) then return nil, 'corrupt' end
  local r, _, flags, ago, kept, leak = { state = low % 5 }, nil, 0, nil, nil, nil
  if variant == 3 then
    r.gen, r.cost = 0, 1
    _, r.digest, r.tag, r.slot, ago, kept, r.epoch, leak = unpack_bytes(FIRST, bytes)
  elseif variant == 2 then
    _, flags, r.gen, r.cost, r.digest, r.tag, r.slot, r.first, r.expires, r.epoch, r.leak = unpack_bytes(WIDE, bytes)
  else
    _, flags, r.gen, r.cost, r.digest, r.tag, r.slot, ago, kept, r.epoch, leak =
      unpack_bytes(variant == 0 and SHORT or FINE, bytes)
  end
  if variant ~= 2 then
    r.first = r.slot - ago
    r.expires = r.slot + (variant == 1 and kept or kept * 1000000)
    r.leak = (r.epoch - leak) % 4294967296
  end
  r.via = flags % 2
  r.repairs = (flags - r.via) / 2 % 4
  r.waits = floor(flags / 8)
  return r
end

local function pack_record(state, gen, slot, cost, first, digest, epoch, leak, via, repairs, waits, tag, expires)
  local flags, ago, kept, behind = via + repairs * 2 + waits * 8, slot - first, expires - slot, epoch - leak
  if behind < 0 then behind = behind + 4294967296 end
  if slot >= 0 and slot < 72057594037927936 and ago >= 0 and ago < 1099511627776 and kept >= 0 and
     kept < 16777216000000 and behind < 65536 and gen < 256 and cost < 256 and flags < 256 then
    if kept % 1000000 == 0 then
      if state == BOOKED and cost == 1 and gen == 0 and flags == 0 then
        return pack(FIRST, 31, digest, tag, slot, ago, kept / 1000000, epoch, behind)
      end
      return pack(SHORT, 16 + state, flags, gen, cost, digest, tag, slot, ago, kept / 1000000, epoch, behind)
    end
    return pack(FINE, 21 + state, flags, gen, cost, digest, tag, slot, ago, kept, epoch, behind)
  end
  return pack(WIDE, 26 + state, flags, gen, cost, digest, tag, slot, first, expires, epoch, leak)
end

local EXPIRY_SLACK = 600000000  -- store/booking_calls.cc: so that the expiry stays the same from booking to done
local function keep_until(expires, required)
  return expires >= required and expires or required + EXPIRY_SLACK
end
-- Nil: not a record that this version reads; it stays.
local function expires_of(bytes)
  local r = read_record(bytes)
  return r and r.expires
end
