"""The console: a page that comes with a server, and the small HTTP API behind it.

The page is an MCP client of the public endpoint. Nothing here is imported unless the console is on.
"""
