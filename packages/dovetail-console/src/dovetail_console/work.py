"""A worker process of the console: it answers the requests on stdin, one after the other."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import msgspec

from dovetail.wire import codec
from dovetail_console.derived import serve_headers, serve_uri
from dovetail_console.evidence import serve_evidence
from dovetail_console.forms import serve_form, serve_outline
from dovetail_console.requests import RefusedError
from dovetail_console.saved_calls import serve_copy, serve_test
from dovetail_console.workers import (
    TOO_MUCH,
    Answer,
    Job,
    Task,
    measure,
    read_frame,
    write_frame,
)

__all__ = ["main", "work"]

# Of one body.
_MAX_NODES = 500_000
_MAX_DEPTH = 256
# Of processor time for one request, of memory, and of an answer.
_SECONDS = 5
_MAX_MEMORY = 1024**3
_MAX_ANSWER = 64 * 1024**2
_HANDLERS: dict[str, Callable[[Job], Answer]] = {
    "copy": serve_copy,
    "evidence": serve_evidence,
    "form": serve_form,
    "headers": serve_headers,
    "outline": serve_outline,
    "test": serve_test,
    "uri": serve_uri,
}


def work(task: bytes) -> Answer:
    """The answer to a request."""
    asked = msgspec.msgpack.decode(task, type=Task)
    try:
        answer = _HANDLERS[asked.name](Job(_read_json(asked.body), asked.servers))
        if len(answer.body) > _MAX_ANSWER:
            raise RefusedError(413, TOO_MUCH)
    except RefusedError as error:
        return Answer(codec.encode({"error": error.text}), status=error.status)
    except (MemoryError, RecursionError):
        return Answer(codec.encode({"error": TOO_MUCH}), status=413)
    except Exception:  # noqa: BLE001 - the boundary
        traceback.print_exc()
        text = "The console failed; the server's log says why"
        return Answer(codec.encode({"error": text}), status=500)
    return answer


def _read_json(data: bytes) -> dict[str, Any]:
    """The JSON object in a body; raises RefusedError."""
    try:
        body = codec.decode_json(data)
    except msgspec.ValidationError as error:
        raise RefusedError(400, f"The body is not valid JSON: {error}") from None
    if not isinstance(body, dict):
        raise RefusedError(400, "The body must be a JSON object")
    nodes, depth = measure(body, _MAX_NODES)
    if nodes > _MAX_NODES or depth > _MAX_DEPTH:
        limits = f"at most {_MAX_NODES} parts and {_MAX_DEPTH} levels"
        raise RefusedError(413, f"The body is too large or nested too deeply: {limits}")
    return body


def _set_limit(kind: int, soft: int) -> None:
    # Not every system has every limit.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(kind, (soft, resource.getrlimit(kind)[1]))


def main() -> None:
    """Answer the requests on stdin until it is closed."""
    # Nothing else may write into the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.nice(5)
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_AS, _MAX_MEMORY)
    while (task := read_frame(sys.stdin.buffer)) is not None:
        # At the limit the process gets SIGXCPU, which ends it whatever it does.
        _set_limit(resource.RLIMIT_CPU, math.ceil(time.process_time()) + _SECONDS)
        write_frame(answers, msgspec.msgpack.encode(work(task)))
