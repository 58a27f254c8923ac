/** A call as something to paste: `dovetail call`, Python, curl. */
const quote = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** The command line `dovetail call`. */
export function asCommand({ server: { target }, authHeaders }, { tool, args, revision }) {
  // A target that is a command goes to the end, after `--`.
  const isCommand = target.startsWith("-- ");
  return ["dovetail call", !isCommand && target, quote(tool), "--args", quote(JSON.stringify(args)), "--mode", revision,
    authHeaders().Authorization && "--token-env TOKEN", isCommand && target].filter(Boolean).join(" ");
}

/** A Python program with dovetail's client. */
export function asPython({ server: { target } }, { tool, args, revision }) {
  const where = target.startsWith("-- ") ? target.slice(3).split(" ") : target;
  return `import asyncio

from dovetail import Client


async def main() -> None:
    async with Client(${python(where)}, mode=${python(revision)}) as client:
        result = await client.call(${python(tool)}, ${python(args)})
        print(result.text)


asyncio.run(main())
`;
}

function python(value) {
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (value !== null && typeof value === "object" && !JSON.isRawJSON?.(value))
    return `{${Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${python(item)}`).join(", ")}}`;
  return { null: "None", true: "True", false: "False" }[value] ?? JSON.stringify(value);
}

/** A curl command; legacy revisions need a session, so it starts with initialize. */
export function asCurl({ client }, { tool, args }) {
  const { url, headers, body } = client.describe("tools/call", { name: tool, arguments: args });
  const own = Object.entries(headers).filter(([name]) => name !== "Mcp-Session-Id").map(([name, value]) =>
    ` \\\n  -H ${/^(authorization|x-api-key)$/i.test(name) ? `"${name}: ${/^Bearer |/.exec(value)[0]}$TOKEN"` : quote(`${name}: ${value}`)}`);
  const call = `curl -sN ${quote(url)}${own.join("")}`;
  const data = (message) => ` \\\n  -d ${quote(JSON.stringify(message))}`;
  if (client.traits.modern) return call + data(body);
  const hello = { ...body, id: 0, method: "initialize", params: { protocolVersion: client.revision, capabilities: {}, clientInfo: { name: "curl", version: "1" } } };
  return `SESSION=$(${call} -D - -o /dev/null${data(hello)} | tr -d '\\r' | awk 'tolower($1)=="mcp-session-id:" {print $2}')
${call} -H "Mcp-Session-Id: $SESSION"${data({ jsonrpc: "2.0", method: "notifications/initialized" })}
${call} -H "Mcp-Session-Id: $SESSION"${data(body)}`;
}
