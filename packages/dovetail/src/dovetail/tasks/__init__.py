"""Tasks: calls whose result the client fetches later, in both forms of the protocol."""
