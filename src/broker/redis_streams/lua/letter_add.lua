#!lua
-- letter_add: appends dead letters, each name once.
-- KEYS    1: letters (stream; the sequence of a letter is the second half of its entry id) · 2: ages (sorted set:
--         dead_at in us, of "sequence name") · 3: names (hash: name to sequence)
-- ARGV    per letter: name (digest of event id, generation and body), dead_at in us, then eleven fields with their values
-- Reply   how many were appended
local WORDS = 24
if #ARGV % WORDS ~= 0 then return redis.error_reply('ERR letter_add: arguments are missing') end
for i = 1, #ARGV, WORDS do
  if not tonumber(ARGV[i + 1]) then return redis.error_reply('ERR letter_add: dead_at is no number') end
end
redis.call('ZCARD', KEYS[2])
local count = 0
for i = 1, #ARGV, WORDS do
  local name, dead_at = ARGV[i], ARGV[i + 1]
  if redis.call('HEXISTS', KEYS[3], name) == 0 then
    local id = redis.call('XADD', KEYS[1], '0-*', 'name', name, 'dead', dead_at, unpack(ARGV, i + 2, i + WORDS - 1))
    local sequence = string.sub(id, 3)
    redis.call('ZADD', KEYS[2], dead_at, sequence .. ' ' .. name)
    redis.call('HSET', KEYS[3], name, sequence)
    count = count + 1
  end
end
return count
