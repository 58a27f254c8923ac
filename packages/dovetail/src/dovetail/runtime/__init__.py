"""The event loop's side: threads, deadlines, a client's calls in flight."""
