"""Who may see the page of `dovetail console`, which uses the credentials of the user who runs it.

Every user of a machine can connect to a loopback address. The page contains the token that all
requests need, so it is given only to the user who runs the process: on Linux the system tells whose
a connection is, and elsewhere the browser asks for a password, which the process has printed.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hmac
import ipaddress
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

from dovetail.transports import HttpRequest
from dovetail_console.requests import RefusedError

__all__ = ["OneUser", "find_uid"]

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_CHALLENGE = (b"www-authenticate", b'Basic realm="dovetail console", charset="UTF-8"')
_WORD = 4


class OneUser:
    """Lets the user in who runs this process, and root, who can read everything anyway."""

    def __init__(self) -> None:
        self._password = ""

    def check(self, request: HttpRequest) -> None:
        """Raises RefusedError if the request may come from somebody else."""
        uid = find_uid(request)
        if uid in (os.getuid(), 0):
            return
        if uid is not None:
            raise RefusedError(403, "This console is for the user who started it")
        if not self._has_password(request):
            self._print_password()
            text = "Enter the password that `dovetail console` has printed; any user name will do"
            raise RefusedError(401, text, (_CHALLENGE,))

    def _has_password(self, request: HttpRequest) -> bool:
        scheme, _, given = request.headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"basic" or not self._password:
            return False
        try:
            _, _, password = base64.b64decode(given, validate=True).partition(b":")
        except binascii.Error:
            return False
        return hmac.compare_digest(password, self._password.encode())

    def _print_password(self) -> None:
        if not self._password:
            self._password = secrets.token_urlsafe(12)
            sys.stderr.write(f"Password of the console: {self._password}\n")
            sys.stderr.flush()


def find_uid(request: HttpRequest) -> int | None:
    """The user whose program sent a request from this machine; None if that is not known."""
    client, server = request.scope.get("client"), request.scope.get("server")
    if not client or not server:
        return None
    for theirs, ours in zip(_spell(client), _spell(server), strict=True):
        for table in _TABLES:
            for words in _read(table):
                # Number, local and remote address, state, ..., uid, timeout, inode; a socket that
                # its program has closed has neither a user nor an inode.
                if words[1:3] == [theirs, ours] and words[9] != "0":
                    return int(words[7])
    return None


def _read(table: str) -> Iterator[list[str]]:
    with contextlib.suppress(OSError):
        for line in Path(table).read_text().splitlines()[1:]:
            yield line.split()


def _spell(address: tuple[str, int]) -> list[str]:
    """An address as the tables have it: of IPv4, and of the same in IPv6."""
    host, port = address[0], address[1] or 0
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return []
    short = getattr(ip, "ipv4_mapped", None) or ip
    long = ipaddress.ip_address(f"::ffff:{short}") if short.version == 4 else short
    return [f"{_hex(each.packed)}:{port:04X}" for each in (short, long)]


def _hex(packed: bytes) -> str:
    words = (packed[start : start + _WORD] for start in range(0, len(packed), _WORD))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
