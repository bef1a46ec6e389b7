#!lua
-- vendor_look: a vendor key as it stands.
-- KEYS    the vendor key
-- Reply   {seconds, us, text or ''}
-- Why     the text and the time that it is read at belong together.
local time = redis.call('TIME')
return {time[1], time[2], redis.call('GET', KEYS[1]) or ''}
