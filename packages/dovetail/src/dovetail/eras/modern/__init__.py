"""2026-07-28: stateless requests."""
