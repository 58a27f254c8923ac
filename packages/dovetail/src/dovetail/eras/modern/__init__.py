"""2026-07-28: every request stands alone."""
