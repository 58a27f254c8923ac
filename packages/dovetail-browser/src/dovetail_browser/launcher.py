"""Records its process id, starts the browser, and relays its DevTools pipe with size limits.

    python -I -S launcher.py FOLDER PROGRAM ARGUMENT...

Runs as a script with the standard library only, as a child of Playwright's driver. The launcher
writes its entry before it checks for the `ended` file, and the watchdog creates that file before
it reads the entries. So in any order one sees the other, and no browser starts unnoticed.

Events on the pipe contain strings of any length that a page chooses: console messages, dialogs,
request bodies. The driver parses every message as a whole, and a message of some hundred megabytes
ends it. `MessageFilter` therefore shortens events before the driver reads them. Nothing in a page
can bypass it.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

_SET_PARENT_DEATH_SIGNAL = 1

# File descriptors of the DevTools pipe, by convention of --remote-debugging-pipe.
_COMMANDS, _MESSAGES = 3, 4
_CHUNK = 1 << 16

# A longer message is not even kept in memory. Responses contain documents and response bodies.
MOST_BYTES = 100_000_000
# Events up to this size are not parsed.
_SMALL_EVENT = 16_000
_LONGEST_STRING = 10_000
_LONGEST_LOGGED = 2_500
# Events that Playwright can miss: these are limited in size and number.
_OPTIONAL = (b"Runtime.consoleAPICalled", b"Runtime.exceptionThrown", b"Log.entryAdded")
_OPTIONAL_BURST, _OPTIONAL_PER_SECOND = 600.0, 100.0
_MOST_SESSIONS = 1_000
# Above the ids that the driver uses.
_OWN_IDS = 2_000_000_000

_RESPONSE = re.compile(rb'\{"id":(\d+)')
_EVENT = re.compile(rb'\{"method":"([\w.]+)"')
_SESSION = re.compile(rb',"sessionId":"(\w+)"\}$')
_EDGE = 300


class MessageFilter:
    """Shortens the browser's messages for the driver.

    `forward` gets messages for the driver, `command` gets commands for the browser; both without
    the terminating zero byte.
    """

    def __init__(self, forward: Callable[[bytes], None], command: Callable[[bytes], None]) -> None:
        self._forward = forward
        self._command = command
        self._chunks: list[bytes] = []
        self._size = 0
        self._own_id = _OWN_IDS
        # Session -> how many optional events it may send, and when that was computed.
        self._allowance: dict[bytes, tuple[float, float]] = {}

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the browser."""
        *ends, rest = data.split(b"\0")
        for end in ends:
            self._add(end)
            message, size = b"".join(self._chunks), self._size
            self._chunks, self._size = [], 0
            if size > MOST_BYTES:
                self._refuse(message)
            else:
                self._pass(message)
        self._add(rest)

    def _add(self, data: bytes) -> None:
        self._size += len(data)
        self._chunks.append(data)
        if self._size > MOST_BYTES:
            # Keep the beginning and the end, which tell what the message is.
            kept = b"".join(self._chunks)
            self._chunks = [kept[:_EDGE], kept[_EDGE:][-_EDGE:]]

    def _pass(self, message: bytes) -> None:
        event = _EVENT.match(message)
        if event is None:
            response = _RESPONSE.match(message)
            if response is None or int(response[1]) <= _OWN_IDS:
                self._forward(message)
            return
        is_optional = event[1] in _OPTIONAL
        if is_optional and not self._is_allowed(message):
            return
        if len(message) > _SMALL_EVENT:
            message = shorten_event(message, _LONGEST_LOGGED if is_optional else _LONGEST_STRING)
            # Many short strings, or nested too deeply.
            if not message or (is_optional and len(message) > _SMALL_EVENT):
                return
        self._forward(message)

    def _refuse(self, edges: bytes) -> None:
        """Answer a message that is too long: an error for the driver, or the end of the page."""
        session = _SESSION.search(edges)
        where = b"" if session is None else b',"sessionId":"%s"' % session[1]
        response, event = _RESPONSE.match(edges), _EVENT.match(edges)
        if response is not None:
            error = b'{"code":-32000,"message":"The response of the browser is too large"}'
            self._forward(b'{"id":%s,"error":%s%s}' % (response[1], error, where))
        elif session is not None and event is not None and event[1] not in _OPTIONAL:
            # The driver must not miss this event, for example that a dialog is open.
            self._own_id += 1
            self._command(b'{"id":%d,"method":"Page.crash"%s}' % (self._own_id, where))

    def _is_allowed(self, message: bytes) -> bool:
        session = _SESSION.search(message[-_EDGE:])
        key = b"" if session is None else session[1]
        now = time.monotonic()
        left, then = self._allowance.pop(key, (_OPTIONAL_BURST, now))
        left = min(left + (now - then) * _OPTIONAL_PER_SECOND, _OPTIONAL_BURST) - 1
        if len(self._allowance) >= _MOST_SESSIONS:
            self._allowance.pop(next(iter(self._allowance)))
        self._allowance[key] = max(left, 0.0), now
        return left >= 0


def shorten_event(message: bytes, longest: int) -> bytes:
    """Return an event with all long strings cut; empty if it cannot be parsed."""
    try:
        return json.dumps(_shorten(json.loads(message), longest), separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return b""


def _shorten(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return value[:longest]
    if isinstance(value, list):
        return [_shorten(item, longest) for item in value]
    if isinstance(value, dict):
        return {key: _shorten(item, longest) for key, item in value.items()}
    return value


def main(folder: str, command: list[str]) -> None:
    """Record this process in the folder, then run the command until it ends."""
    parent = os.getppid()
    _die_with_parent()
    open(os.path.join(folder, "processes", f"{os.getpid()}-{_started()}"), "x").close()
    # If the parent ended before prctl took effect, this process has another parent now.
    if os.path.exists(os.path.join(folder, "ended")) or os.getppid() != parent:
        raise SystemExit(1)
    browser, commands, messages = _start(command)
    _relay(commands, messages)
    _, status = os.waitpid(browser, 0)
    # A negative code means a signal, which Playwright reports.
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        os.kill(os.getpid(), -code)
    raise SystemExit(code)


def _start(command: list[str]) -> tuple[int, int, int]:
    """Start the browser; return its process id and our ends of its pipe."""
    their_commands, commands = os.pipe()
    messages, their_messages = os.pipe()
    launcher = os.getpid()
    browser = os.fork()
    if browser:
        os.close(their_commands)
        os.close(their_messages)
        return browser, commands, messages
    try:
        _die_with_parent()
        if os.getppid() == launcher:
            os.dup2(their_commands, _COMMANDS)
            os.dup2(their_messages, _MESSAGES)
            os.execvp(command[0], command)
    finally:
        os._exit(127)


def _relay(commands: int, messages: int) -> None:
    """Relay between the driver and the browser until the browser closes its pipe."""
    writing = threading.Lock()

    def command(message: bytes) -> None:
        with writing:
            _write(commands, message + b"\0")

    def relay_commands() -> None:
        waiting = b""
        while data := os.read(_COMMANDS, _CHUNK):
            # Only whole messages, because the filter sends commands too.
            whole, end, rest = data.rpartition(b"\0")
            if end:
                command(waiting + whole)
                waiting = rest
            else:
                waiting += data
        os.close(commands)

    threading.Thread(target=relay_commands, daemon=True).start()
    filter = MessageFilter(lambda message: _write(_MESSAGES, message + b"\0"), command)
    while data := os.read(messages, _CHUNK):
        filter.feed(data)


def _write(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def _die_with_parent() -> None:
    """On Linux, have the kernel kill this process when its parent ends."""
    try:
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    except (AttributeError, OSError):
        return


def _started() -> str:
    """Start time of this process in kernel ticks, which makes a reused pid detectable."""
    try:
        with open("/proc/self/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except OSError:
        return "0"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
