#!lua
-- settle: timer entries of one partition were handled; they are gone for good.
-- KEYS    1: due times · 2: payloads
-- ARGV    entry ids
-- Reply   how many were there
redis.call('HLEN', KEYS[2])
local gone = redis.call('ZREM', KEYS[1], unpack(ARGV))
redis.call('HDEL', KEYS[2], unpack(ARGV))
return gone
