"""The scripts of the task store on Redis; each is one atomic change.

KEYS[1] is the prefix of all keys of the cluster, ARGV[1] the name of the process that calls.
"""

from __future__ import annotations

from dovetail.stores.redis.resp import Script
from dovetail.stores.tasks import FINAL

__all__ = ["ADD", "COLLECT", "EXPIRE", "LEAVE", "LOOK", "PAGE", "SAVE", "TAKE"]

# Answers that are kept for one task.
_MAX_ANSWERS = 1000

_START = f"""
local prefix, me = KEYS[1], ARGV[1]
local final = {{{", ".join(f"{status}=true" for status in sorted(FINAL))}}}

local function key(name) return prefix .. name end
local function keep(name, ms)
  if redis.call('PTTL', name) < ms then redis.call('PEXPIRE', name, ms) end
end
local function hold(worker, id, ms)
  redis.call('SADD', key('tasks:held:' .. worker), id)
  redis.call('SADD', key('tasks:workers'), worker)
  keep(key('tasks:held:' .. worker), ms)
  keep(key('tasks:workers'), ms)
end
-- How long the indexes are needed for a row.
local function lifetime(row)
  local ms = redis.call('PTTL', row)
  return ms < 0 and 315360000000 or ms
end
"""


def _script(source: str) -> Script:
    return Script(_START + source)


# ARGV: id, digest of the owner, limit per owner, lifetime in ms, time of expiry, members.
# Answers with the number of the task, 0 if its owner has too many.
ADD = _script("""
local id, digest, ms = ARGV[2], ARGV[3], tonumber(ARGV[5])
local owner = key('tasks:owner:' .. digest)
if redis.call('ZCARD', owner) >= tonumber(ARGV[4]) then return 0 end
local number = redis.call('INCR', key('tasks:number'))
local row = key('task:' .. id)
redis.call('HSET', row, 'number', number, 'turn', 0, unpack(ARGV, 7))
if ARGV[6] ~= '+inf' then redis.call('PEXPIRE', row, ms) end
redis.call('ZADD', owner, number, id)
redis.call('ZADD', key('tasks:all'), number, id)
redis.call('ZADD', key('tasks:expiry'), ARGV[6], id .. ' ' .. digest)
for _, index in ipairs({owner, key('tasks:all'), key('tasks:expiry')}) do keep(index, ms) end
hold(me, id, ms)
return number
""")

# ARGV: id, turn, status, worker, number of members, members, number of absent ones, absent ones,
# the command that tells other processes.
SAVE = _script("""
local id, turn, status, worker = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local row = key('task:' .. id)
local old = redis.call('HMGET', row, 'status', 'worker', 'turn', 'message', 'asks')
if not old[1] or final[old[1]] then return 0 end
if old[2] ~= me then
  -- Only the process that holds a task saves it; every process may cancel it.
  if status ~= 'cancelled' then return 0 end
  worker = old[2]
elseif turn < tonumber(old[3]) then
  -- A later save of this process has overtaken this one.
  return 1
end
local members = 7 + tonumber(ARGV[6])
local absent = members + 1 + tonumber(ARGV[members])
redis.call('HSET', row, 'status', status, 'worker', worker, 'turn', turn,
  unpack(ARGV, 7, members - 1))
if absent > members + 1 then redis.call('HDEL', row, unpack(ARGV, members + 1, absent - 1)) end
if final[status] then
  redis.call('SREM', key('tasks:held:' .. old[2]), id)
  redis.call('DEL', row .. ':answers')
end
local new = redis.call('HMGET', row, 'message', 'asks')
if status ~= old[1] or new[1] ~= old[4] or new[2] ~= old[5] then
  -- The change is made: if it cannot be told, others find it when they look.
  redis.pcall(unpack(ARGV, absent))
end
return 1
""")

# ARGV: index, revision or '', last number seen, size.
PAGE = _script("""
local wanted, after, size = ARGV[3], ARGV[4], tonumber(ARGV[5])
local names = {'id', 'owner', 'revision', 'status', 'message', 'created', 'updated', 'expires',
  'worker', 'number'}
local rows = {}
while #rows < size do
  local found = redis.call('ZRANGEBYSCORE', key('tasks:' .. ARGV[2]), '(' .. after, '+inf',
    'WITHSCORES', 'LIMIT', 0, size)
  if #found == 0 then break end
  for i = 1, #found, 2 do
    after = found[i + 1]
    local values = redis.call('HMGET', key('task:' .. found[i]), unpack(names))
    if values[1] and (wanted == '' or values[3] == wanted) and #rows < size then
      local row = {}
      for place, name in ipairs(names) do
        if values[place] then row[#row + 1] = name; row[#row + 1] = values[place] end
      end
      rows[#rows + 1] = row
    end
  end
end
return rows
""")

# ARGV: the time. Answers with the ids of deleted tasks.
EXPIRE = _script("""
local ids = {}
local over = redis.call('ZRANGEBYSCORE', key('tasks:expiry'), '-inf', ARGV[2], 'LIMIT', 0, 500)
for _, member in ipairs(over) do
  local id, digest = string.match(member, '^(.*) (.*)$')
  local row = key('task:' .. id)
  local worker = redis.call('HGET', row, 'worker')
  if worker then redis.call('SREM', key('tasks:held:' .. worker), id) end
  redis.call('DEL', row, row .. ':answers')
  redis.call('ZREM', key('tasks:owner:' .. digest), id)
  redis.call('ZREM', key('tasks:all'), id)
  redis.call('ZREM', key('tasks:expiry'), member)
  ids[#ids + 1] = id
end
return ids
""")

# ARGV: number of tasks per dead process. Answers with the ids that this process holds, and for
# each process that is missing its name and some of its ids.
LOOK = _script("""
local found = {redis.call('SMEMBERS', key('tasks:held:' .. me))}
for _, worker in ipairs(redis.call('SMEMBERS', key('tasks:workers'))) do
  local held = key('tasks:held:' .. worker)
  if redis.call('EXISTS', held) == 0 then
    redis.call('SREM', key('tasks:workers'), worker)
  elseif worker ~= me and redis.call('EXISTS', key('node:' .. worker)) == 0 then
    -- At random: several processes take over at the same time.
    found[#found + 1] = {worker, unpack(redis.call('SRANDMEMBER', held, ARGV[2]))}
  end
end
return found
""")

# ARGV: the process that held them, ids. Answers with the rows that this process holds now.
TAKE = _script("""
local from, rows = ARGV[2], {}
if from ~= me and redis.call('EXISTS', key('node:' .. from)) == 1 then return rows end
for i = 3, #ARGV do
  local row = key('task:' .. ARGV[i])
  local old = redis.call('HMGET', row, 'status', 'worker')
  local is_taken = old[1] and not final[old[1]] and old[2] == from
  if is_taken then
    -- First: if Redis is out of memory, this fails, and removing an id would not.
    redis.call('HSET', row, 'worker', me, 'turn', 0)
    hold(me, ARGV[i], lifetime(row))
    rows[#rows + 1] = redis.call('HGETALL', row)
  end
  if from ~= me or not is_taken then redis.call('SREM', key('tasks:held:' .. from), ARGV[i]) end
end
return rows
""")

# ARGV: id, answers. Answers with the process that holds the task, '' if it has ended.
LEAVE = _script(f"""
local row = key('task:' .. ARGV[2])
local old = redis.call('HMGET', row, 'status', 'worker')
if not old[1] or final[old[1]] then return '' end
local answers = row .. ':answers'
redis.call('RPUSH', answers, ARGV[3])
redis.call('LTRIM', answers, -{_MAX_ANSWERS}, -1)
keep(answers, lifetime(row))
return old[2]
""")

# ARGV: ids. Answers with ids and answers.
COLLECT = _script("""
local found = {}
for i = 2, #ARGV do
  local answers = key('task:' .. ARGV[i]) .. ':answers'
  for _, left in ipairs(redis.call('LRANGE', answers, 0, -1)) do
    found[#found + 1] = {ARGV[i], left}
  end
  redis.call('DEL', answers)
end
return found
""")
