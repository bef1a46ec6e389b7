#!lua
-- ack: messages of one partition are done with for good.
-- KEYS    1: the stream
-- ARGV    1: group · then entry ids
-- Reply   how many were pending
-- Why     acked and deleted in one step: an entry that is acked and still there would never be read nor trimmed. The
--         stream has one group, so nobody else waits for it; whole nodes are freed as their entries go.
local acked = redis.call('XACK', KEYS[1], unpack(ARGV))
redis.call('XDEL', KEYS[1], unpack(ARGV, 2))
return acked
