"""Every implementation of `Link` is complete."""

from __future__ import annotations

import inspect

import pytest

from dovetail.core.link import ALL_CHANNELS, ClientChannels, Link
from dovetail.runtime.connection import Connection
from dovetail.runtime.link import CallbackLink, NullLink, RequestLink, ResponseOnlyLink
from dovetail.transports.streamable_http.legacy.post_link import (
    JsonPostLink,
    SessionPostLink,
    StatelessPostLink,
)
from dovetail.transports.streamable_http.legacy.session import HttpSession
from tests.unit.fakes import FakeLink

MEMBERS = [name for name in vars(Link) if not name.startswith("_")]
LINKS = [
    CallbackLink,
    Connection,
    FakeLink,
    HttpSession,
    JsonPostLink,
    NullLink,
    RequestLink,
    ResponseOnlyLink,
    SessionPostLink,
    StatelessPostLink,
]


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.__name__)
@pytest.mark.parametrize("name", [name for name in MEMBERS if name not in ("channels", "session")])
def test_a_link_has_every_method_with_the_same_parameters(link: type, name: str) -> None:
    wanted = inspect.signature(getattr(Link, name)).parameters
    assert list(inspect.signature(getattr(link, name)).parameters) == list(wanted)


def test_all_channels_are_open_unless_a_transport_says_otherwise() -> None:
    assert ClientChannels(changes=True, messages=True) == ALL_CHANNELS
