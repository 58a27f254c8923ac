"""Forms for any JSON Schema: what the page draws, and what is wrong with the value."""
