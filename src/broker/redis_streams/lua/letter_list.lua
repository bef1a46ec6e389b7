#!lua flags=no-writes
-- letter_list: one page of dead letters, ascending.
-- KEYS    1: letters
-- ARGV    1: behind this sequence · 2: at most so many · 3: the page ends once it holds so many bytes
-- Reply   how many letters there are · then the letters as XRANGE says them
local CHUNK = 16
local reply, bytes, from = {redis.call('XLEN', KEYS[1])}, 0, '(0-' .. ARGV[1]
local left, most = ARGV[2] + 0, ARGV[3] + 0
while left > 0 and bytes < most do
  local letters = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', math.min(left, CHUNK))
  if #letters == 0 then break end
  for _, letter in ipairs(letters) do
    if bytes >= most then break end
    for _, word in ipairs(letter[2]) do bytes = bytes + #word end
    reply[#reply + 1] = letter
    from = '(' .. letter[1]
  end
  left = left - #letters
end
return reply
