"""HTTP requests of clients: URLs, addresses, connections; nothing of MCP."""
