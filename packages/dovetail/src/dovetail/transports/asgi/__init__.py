"""HTTP as ASGI sees it: requests, responses and streams of events. Nothing here knows MCP."""
