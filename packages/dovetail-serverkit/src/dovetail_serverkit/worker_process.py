"""The process of a worker: reads calls from its input and writes the results to its output."""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import signal
import struct
import sys
from typing import Any, BinaryIO

import msgspec

__all__ = ["main"]

_LENGTH = struct.Struct("<I")


def main() -> None:
    """Answer calls until the input ends."""
    # Ctrl-C reaches all processes of a terminal; the server decides when workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit(int(sys.argv[1]) << 20)
    calls, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What a library prints must not get between the replies.
    os.dup2(2, 1)
    while (data := _receive(calls)) is not None:
        module, name, args = msgspec.msgpack.decode(data, type=tuple[str, str, list[Any]])
        reply = _call(module, name, args)
        del data, args
        replies.write(_LENGTH.pack(len(reply)) + reply)
        replies.flush()


def _call(module: str, name: str, args: list[Any]) -> bytes:
    try:
        result = getattr(importlib.import_module(module), name)(*args)
        return msgspec.msgpack.encode(["", "", result])
    except Exception as error:  # noqa: BLE001 - reported to the caller, who decides
        return msgspec.msgpack.encode([type(error).__name__, str(error), None])


def _limit(memory: int) -> None:
    """Bound the address space, and write no core files."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _receive(pipe: BinaryIO) -> bytes | None:
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    return pipe.read(_LENGTH.unpack(head)[0])
