"""The page of the console beside the page of the Inspector, and what it costs a server."""
