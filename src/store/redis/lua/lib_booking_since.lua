-- Since when this hash tag knows its history. Its marker is written by the first reservation and lost with everything
-- else when Redis is emptied; a process that knew another one says so, and then nobody's releases of before are known:
-- newcomers wait until none of them can count any more. KEYS[#KEYS] is the marker, ARGV[2] ends with '<d' the one that
-- the caller knows (0: none). Needs lib_clock. Marker: '1', since when (us), last renewed (us), 1 where before that
-- something was lost. `since` goes to the caller; `lost`: the time of the loss, or 0.
local since, lost = 0, 0
if not stepped then
  local RENEWED_EVERY, KEPT = 86400000000, '34560000'  -- us; s, 400 days
  local marker, known = redis.call('GET', KEYS[#KEYS]), struct.unpack('<d', ARGV[2], 3)
  local renewed, has_lost = -2 ^ 60, 0
  if marker and #marker == 18 and string.byte(marker) == 49 then
    since, renewed, has_lost = struct.unpack('<ddB', marker, 2)
  end
  local before = has_lost
  if known ~= 0 and known ~= since then has_lost = 1 end
  if since == 0 then since = math.max(1, now) end  -- 0 says none
  if has_lost ~= before or now - renewed > RENEWED_EVERY then
    redis.call('SET', KEYS[#KEYS], struct.pack('<BddB', 49, since, now, has_lost), 'EX', KEPT)
  end
  if has_lost == 1 then lost = since end
end
