"""The heart: registry, schema, dispatch, one call in flight. Knows no event loop."""

# Whatever is imported first, the lines of our loggers cannot be forged.
from dovetail.core import log_lines as log_lines
