#!lua
-- consume: takes every charge of a request or none, whatever their kinds.
-- KEYS    the counters, each once (one hash tag)
-- ARGV    1: floor (lib_clock) · 2: how many equal requests: 1, of a single charge with a cost also more, or 0
--         (takes nothing, but changed limits count from now on) · then one packed charge each (lib_counter); charges of one key carry their joint cost
-- Reply   {trouble or 0, requests admitted (the first ones), seconds, us, then per charge its counter's text
--         before this call (a log: its digest)}. Core decides again from these texts, finds the same, and has
--         all the numbers of the answer.
-- Why     one script for whatever the fast paths (consume_bucket, consume_buckets) do not take.
local floor = ARGV[1] + 0
-- uses: lib_clock.lua lib_counter.lua lib_counter_write.lua
local texts = redis.call('MGET', unpack(KEYS))
local charges, requests = {}, ARGV[2] + 0
local taken = requests
for i = 3, #ARGV do
  local c = read_charge(ARGV[i])
  charges[i - 2] = c
  taken = math.min(taken, fits(c, texts[c.key]))
end
if trouble then taken = 0 end
local reply = {trouble or 0, taken, time[1], time[2]}
for i, c in ipairs(charges) do
  reply[i + 4] = digest(c, texts[c.key], requests > 1 and taken or 0)
end
if trouble then return reply end
local written = {}
for _, c in ipairs(charges) do
  if not written[c.key] then
    written[c.key] = true
    if taken > 0 and c.cost > 0 then
      take(c, KEYS[c.key], texts[c.key], taken * c.cost)
    elseif c.adopts then
      adopt(c, KEYS[c.key], texts[c.key])
    end
  end
end
return reply
