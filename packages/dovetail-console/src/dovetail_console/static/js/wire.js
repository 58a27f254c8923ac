/** What messages of modern revisions look like. */
const PREFIX = "io.modelcontextprotocol/";

export const serverInfoOf = (result) => result._meta?.[`${PREFIX}serverInfo`];

export const hasTasks = (capabilities) => Boolean(capabilities.extensions?.[`${PREFIX}tasks`]);

/** The headers that mirror a modern request (2026-07-28 basic/transports/streamable-http). */
export function mirrorHeaders(revision, method, params, toolHeaders) {
  const headers = { "MCP-Protocol-Version": revision, "Mcp-Method": method };
  const key = /^tasks\//.test(method) ? "taskId" : { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" }[method];
  if (typeof params[key] === "string") headers["Mcp-Name"] = encodeValue(params[key]);
  if (method === "tools/call") for (const [path, header] of toolHeaders.get(params.name) ?? []) {
    const value = path.reduce((inner, name) => inner?.[name], params.arguments);
    if (value != null) headers[`Mcp-Param-${header}`] = encodeValue(String(value));
  }
  return headers;
}

function encodeValue(text) {
  if (/^[\t\x20-\x7e]*$/.test(text) && text === text.trim() && !/^=\?base64\?.*\?=$/.test(text)) return text;
  return `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(text)))}?=`;
}
