#!lua flags=no-writes
-- config_reports: what the instances have reported.
-- KEYS    1: a sorted set: instance -> ms of its last report · 2: a hash: instance -> the report
-- ARGV    1: how many ms a report is kept
-- Reply   per instance three items: its name, ms since its report, the report
-- Why     old ones are left out here too: nobody may have reported since
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local kept = ARGV[1] + 0
local known = redis.call('ZRANGE', KEYS[1], now - kept, now + kept, 'BYSCORE', 'WITHSCORES')
local reply = {}
for i = 1, #known, 2 do
  local report = redis.call('HGET', KEYS[2], known[i])
  if report then
    reply[#reply + 1] = known[i]
    reply[#reply + 1] = math.max(0, now - known[i + 1])
    reply[#reply + 1] = report
  end
end
return reply
