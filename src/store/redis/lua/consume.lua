#!lua
-- consume: takes every charge of a request or none, whatever their kinds.
-- KEYS    the counters, each once (one hash tag)
-- ARGV    1: floor (lib_clock) · 2: how many equal requests: 1, of a single charge with a cost also more, or 0
--         (takes nothing, but changed limits count from now on) · then one packed charge each (lib_counter); charges of
--         one key carry their joint cost
-- Reply   {"trouble requests-admitted seconds us" (the first ones are; trouble 0: none), then per charge its
--         counter's text before this call (a long log: its digest)}. Core decides again from these texts, finds the
--         same, and has all the numbers of the answer.
-- Why     one script for whatever the fast paths (consume_bucket, consume_pair, consume_buckets) do not take.
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_counter.lua lib_counter_look.lua
if trouble then return reply end
for key = 1, #KEYS do
  if taken > 0 and after[key] then
    redis.call('SET', KEYS[key], after[key], 'PX', lives[key])
  elseif adopted and adopted[key] then
    redis.call('SET', KEYS[key], adopted[key], 'PX', outlives[key])
  end
end
return reply
