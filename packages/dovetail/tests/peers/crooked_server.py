"""A small server on stdio that keeps the specification but for one row: ping.empty-result."""

from __future__ import annotations

import json
import sys
from typing import Any

INFO = {"name": "crooked", "version": "0.1"}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params") or {}
    if message.get("method") == "initialize":
        offered = params.get("protocolVersion")
        return {
            "result": {"protocolVersion": offered, "capabilities": {}, "serverInfo": INFO},
        }
    if message.get("method") == "ping":
        return {"result": {"surprise": True}}
    return {"error": {"code": -32601, "message": f"no method {message.get('method')!r}"}}


for line in sys.stdin:
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        reply = {"jsonrpc": "2.0", "error": {"code": -32700, "message": "no message"}}
    elif "id" not in message:
        continue
    else:
        reply = {"jsonrpc": "2.0", "id": message["id"], **answer(message)}
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
