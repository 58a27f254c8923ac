"""Commands in the Redis protocol."""

from __future__ import annotations

import hashlib

from dovetail.state.redis_url import parse_url
from dovetail.stores.redis.resp import Script, encode_command, handshake


def test_a_command_is_an_array_of_bulk_strings() -> None:
    assert encode_command(("SET", b"\r\n", 12)) == (
        b"*3\r\n$3\r\nSET\r\n$2\r\n\r\n\r\n$2\r\n12\r\n"
    )
    # The length counts bytes.
    assert encode_command(("ä", 0.25)) == b"*2\r\n$2\r\n\xc3\xa4\r\n$4\r\n0.25\r\n"


def test_the_handshake_logs_in_and_selects_the_database() -> None:
    last = ("CLIENT", "SETNAME", "dovetail")
    assert handshake(parse_url("redis://store")) == [last]
    assert handshake(parse_url("redis://:pw@store/2")) == [("AUTH", "pw"), ("SELECT", 2), last]
    assert handshake(parse_url("redis://ann:pw@store")) == [("AUTH", "ann", "pw"), last]


def test_a_script_is_called_by_its_digest() -> None:
    assert Script("return 1").digest == hashlib.sha1(b"return 1").hexdigest()
