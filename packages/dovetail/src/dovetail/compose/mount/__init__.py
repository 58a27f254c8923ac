"""`server.mount()`: serve the tools, prompts and resources of another server."""
