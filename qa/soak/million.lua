-- Calls of both eras in turn, for wrk; every answer is held to its own id: a + 2 = b.
--
--   wrk ... -s million.lua URL -- SESSION [SESSION ...]

local threads = {}

function setup(thread)
  thread:set("number", #threads)
  table.insert(threads, thread)
end

function init(sessions)
  id, right, wrong, example = number * 100000000, 0, 0, ""
  legacy = {}
  for place, session in ipairs(sessions) do
    legacy[place] = {
      ["Content-Type"] = "application/json",
      ["Accept"] = "application/json, text/event-stream",
      ["MCP-Protocol-Version"] = "2025-11-25",
      ["Mcp-Session-Id"] = session,
    }
  end
  modern = {
    ["Content-Type"] = "application/json",
    ["Accept"] = "application/json, text/event-stream",
    ["MCP-Protocol-Version"] = "2026-07-28",
    ["Mcp-Method"] = "tools/call",
    ["Mcp-Name"] = "add",
  }
end

local BODY = '{"jsonrpc":"2.0","id":%d,"method":"tools/call",'
  .. '"params":{"name":"add","arguments":{"a":%d,"b":2}%s}}'
local META = ',"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
  .. '"io.modelcontextprotocol/clientInfo":{"name":"soak","version":"1"},'
  .. '"io.modelcontextprotocol/clientCapabilities":{}}'

function request()
  id = id + 1
  if id % 2 == 0 then
    return wrk.format("POST", nil, modern, string.format(BODY, id, id, META))
  end
  local headers = legacy[math.floor(id / 2) % #legacy + 1]
  return wrk.format("POST", nil, headers, string.format(BODY, id, id, ""))
end

function response(status, headers, body)
  local asked, sum = body:match('"id":(%d+)'), body:match('"text":"(%d+)"')
  if status == 200 and asked and sum and tonumber(asked) + 2 == tonumber(sum) then
    right = right + 1
  else
    wrong = wrong + 1
    example = status .. " " .. body:sub(1, 200)
  end
end

function done(summary, latency)
  local all, bad, shown = 0, 0, ""
  for _, thread in ipairs(threads) do
    all, bad = all + thread:get("right"), bad + thread:get("wrong")
    shown = thread:get("example") or shown
  end
  local errors = summary.errors
  io.write(string.format("SOAK %d %d %d %d %d %s\n", all, bad,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99), shown))
end
