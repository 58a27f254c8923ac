"""2024-11-05 to 2025-11-25: a handshake, a session, a back channel."""
