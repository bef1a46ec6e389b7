#!lua
-- forget_consumers: takes the names of processes that are long gone off the group.
-- KEYS    1: the stream
-- ARGV    1: group · 2: the caller's own name · 3: idle for so many ms
-- Reply   how many were forgotten
-- Why     looked at and deleted in one step: deleting a consumer drops what it has pending.
local count = 0
local consumers = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
if consumers.err then return 0 end
for _, consumer in ipairs(consumers) do
  local about = {}
  for i = 1, #consumer, 2 do about[consumer[i]] = consumer[i + 1] end
  if about.name ~= ARGV[2] and about.pending == 0 and about.idle > ARGV[3] + 0 then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], about.name)
    count = count + 1
  end
end
return count
