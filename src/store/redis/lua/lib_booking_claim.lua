-- Claim: whose an event id is, in a stream of several partitions. 0x10, the key's tag, since and until when, in s.
local CLAIM = '<Bc8I4I4'
local function read_claim(bytes)
  if #bytes ~= 17 or string.byte(bytes) ~= 16 then return nil end
  local _, tag, since, ends = unpack_bytes(CLAIM, bytes)
  return { tag = tag, since = since, expires = ends * 1000000 }
end
local function expires_of(bytes)
  local c = read_claim(bytes)
  return c and c.expires
end
