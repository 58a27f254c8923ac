"""A stdio server of both eras, written without any library, that writes down what it gets."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

RECORD = Path(sys.argv[1])
MODERN = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "secret")]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "recorder", "version": "1"},
        }
    if method == "server/discover":
        info = {"io.modelcontextprotocol/serverInfo": {"name": "recorder", "version": "1"}}
        versions = ["2026-07-28"]
        capabilities: dict[str, Any] = {"tools": {}}
        return {"supportedVersions": versions, "capabilities": capabilities, "_meta": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        text = "treasure" if params["name"] == "secret" else json.dumps(params["arguments"])
        return {"content": [{"type": "text", "text": text}]}
    return {}


with RECORD.open("ab", buffering=0) as record:
    for line in sys.stdin.buffer:
        record.write(line)
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = answer(message["method"], message.get("params", {})) | MODERN
            said = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            sys.stdout.write(json.dumps(said) + "\n")
            sys.stdout.flush()
