// Other people's clients against our server: each lists the tools and calls one, in both eras.
//
//     node clients.mjs URL
//
// Lives beside the node_modules it imports from (run.py copies it there). Ends with 1 if any
// client fails.

import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const url = process.argv[2];
const here = dirname(fileURLToPath(import.meta.url));
const me = { name: "dovetail-conformance", version: "1.0.0" };
const tool = "test_simple_text";
const text = "This is a simple text response for testing.";

function check(tools, result) {
  if (!tools.some((entry) => entry.name === tool)) throw new Error(`${tool} is not listed`);
  if (result.content?.[0]?.text !== text) throw new Error(`wrong result: ${JSON.stringify(result)}`);
}

async function typescript(mode, era) {
  const client = new Client(me, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  try {
    const { tools } = await client.listTools();
    check(tools, await client.callTool({ name: tool, arguments: {} }));
    const spoken = client.getProtocolEra();
    if (spoken !== era) throw new Error(`spoke ${spoken}, not ${era}`);
  } finally {
    await client.close();
  }
}

async function typescript1() {
  const client = new OldClient(me);
  const transport = new OldTransport(new URL(url));
  await client.connect(transport);
  try {
    const { tools } = await client.listTools();
    check(tools, await client.callTool({ name: tool, arguments: {} }));
    await transport.terminateSession();
  } finally {
    await client.close();
  }
}

async function inspect(era) {
  const script = join(here, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
  const run = async (...words) => {
    const options = ["--cli", url, "--transport", "http", "--protocol-era", era, ...words];
    const { stdout } = await promisify(execFile)(process.execPath, [script, ...options], {
      timeout: 60_000,
      // It keeps files in the home of whoever runs it.
      env: { ...process.env, HOME: here },
    });
    return JSON.parse(stdout);
  };
  const { tools } = await run("--method", "tools/list");
  check(tools, await run("--method", "tools/call", "--tool-name", tool));
}

const clients = {
  "TypeScript SDK 1": () => typescript1(),
  "TypeScript client 2, legacy": () => typescript("legacy", "legacy"),
  "TypeScript client 2, auto": () => typescript("auto", "modern"),
  "TypeScript client 2, 2026-07-28": () => typescript({ pin: "2026-07-28" }, "modern"),
  "MCP Inspector, legacy": () => inspect("legacy"),
  "MCP Inspector, modern": () => inspect("modern"),
};

for (const [name, run] of Object.entries(clients)) {
  try {
    await run();
    console.log(`${name.padEnd(34)}lists and calls`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`${name.padEnd(34)}FAILED: ${error.stack ?? error}`);
  }
}
