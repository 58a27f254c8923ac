"""JSON-RPC 2.0; nothing of MCP."""
