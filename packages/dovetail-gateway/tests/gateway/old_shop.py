"""An upstream of the first revision on stdio, written without any library."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

PRICE = {
    "type": "object",
    "properties": {"item": {"type": "string"}, "currency": {"type": "string"}},
    "required": ["item", "currency"],
}
NOTHING = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "price", "description": "Price.", "inputSchema": PRICE},
    {"name": "erase", "description": "Erase.", "inputSchema": NOTHING},
    {"name": "meta", "description": "Meta.", "inputSchema": NOTHING},
    {"name": "token", "description": "Token.", "inputSchema": NOTHING},
]


def call(params: dict[str, Any]) -> str:
    arguments = params.get("arguments", {})
    if params["name"] == "price":
        return f"{arguments['item']}: 3 {arguments['currency']}"
    if params["name"] == "meta":
        return json.dumps(params.get("_meta", {}))
    if params["name"] == "token":
        return os.environ.get("SHOP_TOKEN", "none")
    return "erased"


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        return {
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "old-shop", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": call(params)}]}
    return {} if method == "ping" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    error = {"code": -32601, "message": "Method not found"}
    said = {"error": error} if result is None else {"result": result}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}) + "\n")
    sys.stdout.flush()
