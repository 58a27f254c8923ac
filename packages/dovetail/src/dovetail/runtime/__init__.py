"""Everything that needs the event loop: connections, running handlers, timeouts, threads."""
