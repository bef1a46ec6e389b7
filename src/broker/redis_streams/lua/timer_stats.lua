#!lua flags=no-writes
-- timer_stats: how much of one partition waits, and from when to when. O(log n).
-- KEYS    1: due times
-- Reply   count · earliest time in us · latest (both empty: none). A fired entry counts at the end of its lease.
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
return {redis.call('ZCARD', KEYS[1]), first[2] or '', last[2] or ''}
