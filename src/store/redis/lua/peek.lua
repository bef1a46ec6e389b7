#!lua flags=no-writes
-- peek: what consume would say to one request, nothing taken.
-- KEYS, ARGV, reply: as consume (ARGV 2 is 1); inspect is a peek of cost 0.
-- Why     a script without writes also runs when Redis is full.
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_counter.lua
local texts = redis.call('MGET', unpack(KEYS))
local reply = {0, 0, time[1], time[2]}
for i = 3, #ARGV do
  local c = read_charge(ARGV[i])
  fits(c, texts[c.key])
  reply[i + 2] = digest(c, texts[c.key], 0)
end
reply[1] = trouble or 0
return reply
