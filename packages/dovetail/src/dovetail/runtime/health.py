"""The health pages: whether a process lives, and whether it can serve."""

from __future__ import annotations

from dovetail.runtime.auth_backend import PublicDocument
from dovetail.runtime.engine import Engine
from dovetail.wire import codec

__all__ = ["HEALTH_PATHS", "READY_PATH", "find_health_page"]

READY_PATH = "/readyz"
HEALTH_PATHS = ("/healthz", READY_PATH)
_OK = PublicDocument(200, b'{"status":"ok"}')


def find_health_page(
    path: str, engine: Engine, *, is_draining: bool = False
) -> PublicDocument | None:
    """The health page at a path; None at any other path.

    The reasons name no host: anybody may read them. The log has the details.
    """
    if path not in HEALTH_PATHS:
        return None
    if path != READY_PATH:
        return _OK
    if is_draining:
        return _not_ready("draining", "the process is shutting down")
    if not engine.lifespan.started:
        return _not_ready("starting", "the lifespan of the server has not started")
    if engine.shared is not None and engine.shared.cluster.problem is not None:
        return _not_ready("unavailable", "the shared store cannot be reached; see the log")
    return _OK


def _not_ready(status: str, reason: str) -> PublicDocument:
    return PublicDocument(503, codec.encode({"status": status, "reason": reason}))
