-- What is kept of event ids lives in hashes of many ids each ("buckets", chosen by the id): a string of its own would
-- cost each id three times its bytes. A field is the id (16 bytes of its SHA-256 where it is longer than 15), its value
-- a record (lib_booking_record) or a claim (lib_booking_claim): who uses this knows expires_of(value), nil where it is
-- not to be touched. The field '' is the bucket's own: '<I4I4' until when it lives and when to sweep it, in seconds. A
-- bucket lives as long as its longest-kept value; what is expired before that is absent, and leaves in a sweep.
local known, metas = {}, {}  -- by id: its bytes, or false; by bucket: its own field
local written, written_bucket, written_expires = {}, {}, {}  -- what is to be written, in order

local function load_event(bucket, id)
  local bytes = known[id]
  if bytes == nil then
    local found = redis.call('HMGET', KEYS[bucket], id, '')
    bytes, metas[bucket] = found[1], metas[bucket] or found[2]
    known[id] = bytes
  end
  return bytes
end

-- To be written at the end of the call; the next item of the batch finds it. Saved twice it is written twice, each
-- time the latest.
local function save_event(bucket, id, bytes, expires)
  local n = #written + 1
  known[id], written[n], written_bucket[n], written_expires[n] = bytes, id, bucket, expires
end

-- Takes the expired out of a bucket, or out of a sample of a large one; next when half of the rest has expired.
local SAMPLE, SWEEPS_MAX = 256, 2
local function sweep(bucket, seconds, ttl)
  local entries, gone, ends = redis.call('HRANDFIELD', KEYS[bucket], SAMPLE, 'WITHVALUES'), {}, {}
  for k = 1, #entries, 2 do
    local expires = entries[k] ~= '' and expires_of(entries[k + 1])
    if expires and expires <= now then
      gone[#gone + 1] = entries[k]
    elseif expires then
      ends[#ends + 1] = expires
    end
  end
  for from = 1, #gone, 100 do redis.call('HDEL', KEYS[bucket], unpack(gone, from, min(from + 99, #gone))) end
  table.sort(ends)
  local again = seconds + (#gone * 4 > SAMPLE and 1 or 60)
  if #entries < 2 * SAMPLE and #ends > 0 then again = min(math.ceil(ends[math.ceil(#ends / 2)] / 1000000), ttl) end
  local meta = pack('<I4I4', ttl, again)
  redis.call('HSET', KEYS[bucket], '', meta)
  metas[bucket] = meta
end

local KEPT_MAX = 315360000  -- s; "never" is not stored for ever
local function write_events()
  local call, seconds, sweeps = redis.call, floor(now / 1000000), 0
  for n = 1, #written do
    local id, bucket = written[n], written_bucket[n]
    local key, meta = KEYS[bucket], metas[bucket]
    local ends = min(math.ceil(written_expires[n] / 1000000), seconds + KEPT_MAX)
    local ttl, swept = 0, ends
    if meta then ttl, swept = unpack_bytes('<I4I4', meta) end
    if ends > ttl then
      ttl = ends + 600 + floor(max(0, ends - seconds) / 2)
      meta = pack('<I4I4', ttl, swept)
      metas[bucket] = meta
      call('HSET', key, '', meta, id, known[id])
      call('PEXPIREAT', key, ttl * 1000)
    else
      call('HSET', key, id, known[id])
    end
    if swept <= seconds and sweeps < SWEEPS_MAX then
      sweeps = sweeps + 1
      sweep(bucket, seconds, ttl)
    end
  end
end
