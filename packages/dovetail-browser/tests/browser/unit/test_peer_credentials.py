from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from dovetail_browser.peer_credentials import can_identify_peers, is_own_peer

# Connects, says so, and waits until its input ends.
_CONNECT = (
    "import os, socket, sys; os.setuid(65534) if sys.argv[2:] else None; "
    "s = socket.socket(); s.connect(('127.0.0.1', int(sys.argv[1]))); "
    "print(s.getsockname()[1], flush=True); sys.stdin.read()"
)


def look_at_another_process(*words: str) -> bool:
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = server.getsockname()
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _CONNECT, str(here[1]), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None and process.stdin is not None
            port = int(process.stdout.readline())
            accepted, peer = server.accept()
            with accepted:
                assert peer[1] == port
                is_own = is_own_peer(peer, here)
            process.stdin.close()
        return is_own


def test_a_connection_of_the_same_user_is_recognized() -> None:
    assert can_identify_peers()
    assert look_at_another_process()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user to try it")
def test_a_connection_of_another_user_is_rejected() -> None:
    assert not look_at_another_process("as nobody")


def test_an_unknown_connection_has_no_owner() -> None:
    assert not is_own_peer(("127.0.0.1", 1), ("127.0.0.1", 2))
