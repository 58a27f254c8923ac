"""The `dovetail` command in a pseudo-terminal, driven as a user would."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

from tests.patience import CAP

__all__ = ["Terminal", "open_terminal"]


class Terminal:
    """A running command: `expect` waits for output, `type` answers it."""

    def __init__(self, words: tuple[str, ...], columns: int, env: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dovetail", *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            # Shells start background commands with SIGINT ignored, which children inherit.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            # A width in the environment wins over that of the terminal.
            env={
                **os.environ,
                "TERM": "xterm",
                "COLUMNS": str(columns),
                "BROWSER": "true",
                **env,
            },
        )
        os.close(slave)
        self.output = ""
        self._received = b""
        self._read = 0

    def expect(self, text: str) -> str:
        """Wait for text after what was expected before; returns everything up to its end."""
        deadline = time.monotonic() + CAP
        while (found := self.output.find(text, self._read)) < 0:
            assert time.monotonic() < deadline, f"no {text!r} in {self.output[self._read :]!r}"
            assert self._receive(), f"ended without {text!r}: {self.output[self._read :]!r}"
        seen = self.output[self._read : found + len(text)]
        self._read = found + len(text)
        return seen

    def type(self, text: str) -> None:
        """Type a line."""
        os.write(self._master, f"{text}\n".encode())

    def press(self, key: str) -> None:
        """Press a control key: "D" ends the input, "C" interrupts."""
        if key == "C":
            self._process.send_signal(signal.SIGINT)
        else:
            os.write(self._master, bytes([ord(key) - ord("@")]))

    def wait(self) -> int:
        """Read all output and return the exit code."""
        while self._receive():
            pass
        return self._process.wait(CAP)

    def close(self) -> None:
        """End the command."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._master)

    def _receive(self) -> bool:
        select.select([self._master], [], [], CAP)
        try:
            data = os.read(self._master, 65_536)
        except OSError:
            return False  # Linux reports EIO when the last process has closed the terminal
        # Decoded as a whole: a read may end in the middle of a character or of a line end.
        self._received += data
        self.output = self._received.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)


@contextlib.contextmanager
def open_terminal(*words: str, columns: int = 80, **env: str) -> Iterator[Terminal]:
    """Start `dovetail WORDS` in a terminal of that width."""
    terminal = Terminal(words, columns, env)
    try:
        yield terminal
    finally:
        terminal.close()
