-- What most calls of done are: short and fine records of releases, unexpired and of the generation that is settled.
-- Their first byte is all that changes, so nothing is unpacked but when they expire, and the libraries behind this are
-- not even defined. `settled` items are done, up to `position`: there something is of another kind. Needs lib_clock.
local function settle()
  local items, settled, at = ARGV[4], 0, 1
  while at <= #items and not stepped do
    local _, bucket, generation, id, pos = struct.unpack('<BBI4Bc0', items, at)
    local bytes = redis.pcall('HGET', KEYS[bucket], id)
    if type(bytes) ~= 'string' then break end
    local head, flags, of = string.byte(bytes, 1, 3)
    local short = head == 17 and #bytes == 41
    if not short and not (head == 22 and #bytes == 44) or flags > 7 or of ~= generation then break end
    local slot, _, kept = struct.unpack(short and '<I7I5I3' or '<I7I5I6', bytes, 21)
    if slot + (short and kept * 1000000 or kept) <= now then break end
    redis.call('HSET', KEYS[bucket], id, (short and '\18' or '\23') .. string.sub(bytes, 2))
    settled, at = settled + 1, pos
  end
  return settled, at
end
local settled, position = settle()
local settled_answers = string.rep(string.rep('\0', 30), settled)  -- as refuse(0) says it
if settled > 0 and position > #ARGV[4] then return struct.pack('<Bd', 0, now) .. settled_answers end
