"""`Timing`: how long requests take."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

from dovetail.core.middleware import CallNext, Request
from dovetail.features.middleware import Middleware

__all__ = ["Timed", "Timing"]

logger: logging.Logger = logging.getLogger("dovetail.timing")


class Timed(NamedTuple):
    """One request: the tool, prompt or URI (None for lists), and the error if it failed."""

    method: str
    name: str | None
    seconds: float
    error: Exception | None


def _log(timed: Timed) -> None:
    ending = "" if timed.error is None else f", failed with {type(timed.error).__name__}"
    logger.info("%s %s: %.1f ms%s", timed.method, timed.name or "", timed.seconds * 1000, ending)


class Timing(Middleware):
    """Middleware that measures every request and passes the time to `report`.

    Without `report` it is logged under "dovetail.timing". The time includes that of middleware
    further inside.
    """

    def __init__(self, report: Callable[[Timed], None] = _log) -> None:
        self._report = report

    async def __call__(self, request: Request[Any], call_next: CallNext[Any]) -> Any:
        """Measure a request."""
        error: Exception | None = None
        started = perf_counter()
        try:
            return await call_next(request)
        except Exception as failure:
            error = failure
            raise
        finally:
            timed = Timed(request.method, request.target, perf_counter() - started, error)
            try:
                self._report(timed)
            except Exception:
                # The result is ready; a failure to report it must not change it.
                logger.exception("the report of a timing failed")
