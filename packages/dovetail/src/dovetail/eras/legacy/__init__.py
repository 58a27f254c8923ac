"""2024-11-05 to 2025-11-25: handshake, session and server requests."""
