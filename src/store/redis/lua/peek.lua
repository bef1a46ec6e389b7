#!lua flags=no-writes
-- peek: what consume would say to one request, nothing taken.
-- KEYS, ARGV, reply: as consume (ARGV 2 is 1); inspect is a peek of cost 0.
-- Why     a script without writes also runs when Redis is full.
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_counter.lua lib_counter_look.lua
return reply
