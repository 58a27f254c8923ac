"""`--access-log`: writes each HTTP request to stderr."""

from __future__ import annotations

import logging
import sys

from dovetail.cli.log_format import make_formatter

__all__ = ["log_requests"]


class _WithoutQuery(logging.Filter):
    """Removes the query of a URL, which may contain a secret."""

    def filter(self, record: logging.LogRecord) -> bool:
        # uvicorn logs: client, method, path with query, HTTP version, status
        if isinstance(record.args, tuple) and len(record.args) == 5:
            client, method, path, *rest = record.args
            record.args = (client, method, str(path).partition("?")[0], *rest)
        return True


def log_requests() -> None:
    """Send uvicorn's access log to stderr."""
    logger = logging.getLogger("uvicorn.access")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(make_formatter("%(asctime)s %(message)s"))
    handler.addFilter(_WithoutQuery())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
