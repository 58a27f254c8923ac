"""The browser server beside @playwright/mcp, on the same local site."""
