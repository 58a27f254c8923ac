"""Whether a server has stopped listening."""

from __future__ import annotations

import socket

from tests.patience import CAP

__all__ = ["is_refused"]


def is_refused(port: int) -> bool:
    """Whether new connections are refused."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=CAP).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        # The listener was closed during this attempt; the next one is refused.
        return False
    return False
