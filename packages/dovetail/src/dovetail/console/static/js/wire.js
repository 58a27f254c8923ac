/** What MCP messages look like at each revision: capabilities, metadata and headers. */
const PREFIX = "io.modelcontextprotocol/";
const TASKS = `${PREFIX}tasks`;

/** The differences between revisions that matter to a client. Dates compare as text. */
export const traitsOf = (revision) => ({
  modern: revision >= "2026-07-28", tasks: revision >= "2025-11-25", elicitation: revision >= "2025-06-18",
  completions: revision >= "2025-03-26",
});

/** The client capabilities: everything that the page can ask its user. */
export function capabilitiesAt(revision, tasks) {
  const traits = traitsOf(revision);
  return {
    roots: {}, sampling: traits.tasks ? { tools: {} } : {},
    ...(traits.elicitation && { elicitation: traits.tasks ? { form: {}, url: {} } : {} }),
    ...(tasks && { extensions: { [TASKS]: {} } }),
  };
}

/** The `_meta` of a modern request. */
export const envelope = (revision, clientInfo, tasks) => ({
  [`${PREFIX}protocolVersion`]: revision, [`${PREFIX}clientInfo`]: clientInfo,
  [`${PREFIX}clientCapabilities`]: capabilitiesAt(revision, tasks), [`${PREFIX}logLevel`]: "debug",
});

/** What the result of server/discover says about the server. */
export const serverInfoOf = (result) => result._meta?.[`${PREFIX}serverInfo`];

/** Whether a modern server has tasks. */
export const hasTasks = (capabilities) => Boolean(capabilities.extensions?.[TASKS]);

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

/** The arguments of a tool that are mirrored, as [path, header]; throws if an annotation is invalid. */
export function headersOfTool(schema) {
  const marks = JSON.stringify(schema).match(/"x-mcp-header":[^{]/g)?.length ?? 0;
  const found = [];
  const walk = (part, path) => {
    for (const [name, field] of Object.entries(part.properties ?? {})) {
      const header = field?.["x-mcp-header"];
      if (typeof header === "string") {
        const isValid = /^[!#$%&'*+.^_`|~\w-]+$/.test(header) && ["string", "integer", "boolean"].includes(field.type);
        if (!isValid) throw new Error(`${name}: ${header} is not allowed`);
        found.push([[...path, name], header]);
      }
      if (field) walk(field, [...path, name]);
    }
  };
  if (marks) walk(schema, []);
  if (new Set(found.map(([, header]) => header.toLowerCase())).size !== marks)
    throw new Error("it is repeated, or not on a property of an object");
  return found;
}
