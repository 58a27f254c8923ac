"""Reads lines from the terminal without blocking the event loop.

`input()` in a thread could not be interrupted: Ctrl-C would wait for the next line.
"""

from __future__ import annotations

import asyncio
import os
import sys

import click

__all__ = ["can_ask", "read_line"]

_MAX_LINE = 65_536


def can_ask() -> bool:
    """Whether a person can read questions on stderr and type answers on stdin."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


async def read_line(prompt: str) -> str | None:
    """The line that the user types, without the newline; None for Ctrl-D."""
    click.echo(prompt, nl=False, err=True)
    loop = asyncio.get_running_loop()
    descriptor = sys.stdin.fileno()
    line: asyncio.Future[str | None] = loop.create_future()

    def read() -> None:
        # A terminal is readable when a whole line is there, and one read returns that line.
        try:
            data = os.read(descriptor, _MAX_LINE)
        except OSError:
            data = b""  # the terminal is gone
        if not line.done():
            line.set_result(data.decode(errors="replace").rstrip("\r\n") if data else None)

    loop.add_reader(descriptor, read)
    try:
        return await line
    finally:
        loop.remove_reader(descriptor)
