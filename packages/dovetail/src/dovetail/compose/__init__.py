"""Servers made of other servers: mounts, proxies, OpenAPI, tool search."""
