-- The time of this call, read once. Before: `floor`, the latest time that the caller has seen from this node.
-- After, in us: `raw` as Redis says it, `now` never before floor. A larger step back than CLAMP is an alarm:
-- `stepped`, and the script answers without touching anything. `time`: seconds and us, as texts.
local CLAMP = 5000000
local time = redis.call('TIME')
local raw = time[1] * 1000000 + time[2]
local now = raw
if floor > raw then now = floor end
local stepped = now - raw > CLAMP
