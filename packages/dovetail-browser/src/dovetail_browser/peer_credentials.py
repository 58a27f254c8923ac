"""Finds the user that owns the other end of a loopback connection.

Every user of the machine can connect to a loopback port. On Linux a netlink socket (sock_diag)
returns the owner of a connection in 60 us; reading /proc/net/tcp took 6 ms, because the kernel
walks its whole table. Unlike a password, this needs no cooperation of the browser.
"""

from __future__ import annotations

import os
import socket
import struct

__all__ = ["can_identify_peers", "is_own_peer"]

# linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h
_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 1
_ANY_STATE = 0xFFFFFFFF
_NO_COOKIE = b"\xff" * 8
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_REQUEST = struct.Struct("=BBBBI")  # family, protocol, extensions, padding, states
_SOCKET_ID = struct.Struct("!HH16s16sI")  # ports and addresses of both ends, interface
_UID = struct.Struct("=I")
# After the header: four bytes of state, the socket id with its cookie, three counters.
_UID_AT = _HEADER.size + 4 + _SOCKET_ID.size + len(_NO_COOKIE) + 12
_SECONDS = 1.0


def is_own_peer(peer: tuple[str, int], here: tuple[str, int]) -> bool:
    """Whether the process that connected from `peer` to `here` runs as our user."""
    return _find_owner(peer, here) == os.geteuid()


def can_identify_peers() -> bool:
    """Whether this system supports it; tested with a connection to ourselves."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        return is_own_peer(client.getsockname(), server.getsockname())


def _find_owner(peer: tuple[str, int], here: tuple[str, int]) -> int | None:
    """Return the user id that owns a connection; None if the system does not report it."""
    ends = (socket.inet_aton(peer[0]), socket.inet_aton(here[0]))
    request = (
        _REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, _ANY_STATE)
        + _SOCKET_ID.pack(peer[1], here[1], *ends, 0)
        + _NO_COOKIE
    )
    length = _HEADER.size + len(request)
    header = _HEADER.pack(length, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0)
    # Linux only.
    family = getattr(socket, "AF_NETLINK", None)
    if family is None:
        return None
    try:
        with socket.socket(family, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
            kernel.settimeout(_SECONDS)
            kernel.send(header + request)
            answer = kernel.recv(4096)
    except OSError:
        return None
    if len(answer) < _UID_AT + _UID.size or _HEADER.unpack_from(answer)[1] != _SOCK_DIAG_BY_FAMILY:
        return None
    owner: int = _UID.unpack_from(answer, _UID_AT)[0]
    return owner
