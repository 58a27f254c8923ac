"""The heart: registry, schema, dispatch, one call in flight. Knows no event loop."""
