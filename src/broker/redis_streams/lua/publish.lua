#!lua
-- publish: appends messages to one partition of a topic, each id once.
-- KEYS    1: the stream · 2 and on: one id record per message (the stream's own key: the message has no id)
-- ARGV    1: lifetime of an id record in ms · then per message: id, attributes, body
-- Reply   how many were appended; the others were there already
-- Why     the record is written after its message: a message that could not be appended is never taken for one
--         that was.
if #ARGV ~= 3 * #KEYS - 2 then return redis.error_reply('ERR publish: three arguments per message') end
local known = redis.call('MGET', unpack(KEYS, 2))
local here, count = {}, 0
for i = 2, #KEYS do
  local key, at = KEYS[i], 3 * i - 4
  local named = key ~= KEYS[1]
  if not named or not (known[i - 1] or here[key]) then
    redis.call('XADD', KEYS[1], '*', 'i', ARGV[at], 'a', ARGV[at + 1], 'b', ARGV[at + 2])
    if named then
      redis.call('SET', key, 1, 'PX', ARGV[1])
      here[key] = true
    end
    count = count + 1
  end
end
return count
