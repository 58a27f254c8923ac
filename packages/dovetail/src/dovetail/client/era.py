"""What the two ways of talking to a server have in common, and the settings they share.

`negotiation.py` picks one when a client opens; nobody asks afterwards which it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import Raw

from dovetail.client.background import resolve
from dovetail.client.exchange import Exchange, ProgressCallback
from dovetail.client.inputs import Inputs
from dovetail.client.results import ServerFacts
from dovetail.client.subscriptions import Change, Interest, Subscription
from dovetail.client.tasks import TaskCalls
from dovetail.errors import TransportError, UsageError
from dovetail.spec.keys import LOG_LEVELS
from dovetail.spec.methods import METHODS, methods_at
from dovetail.spec.models import LogParams
from dovetail.spec.revisions import Revision
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Request

__all__ = ["ChangeCallback", "ClientEra", "LogCallback", "Settings", "check_log_level"]

T = TypeVar("T")

LogCallback: TypeAlias = Callable[[LogParams], Awaitable[None] | None]
ChangeCallback: TypeAlias = Callable[[Change], Awaitable[None] | None]

_KNOWN_METHODS = frozenset(method.name for method in METHODS)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a client was told when it was made."""

    name: str
    version: str
    inputs: Inputs
    on_log: LogCallback | None = None
    on_change: ChangeCallback | None = None
    timeout: float = 30.0
    log_level: str = "info"
    # How often one request may be sent again because the server wants more input.
    max_rounds: int = 10


class ClientEra(ABC):
    """One way of talking to a server that is open."""

    # What it asks about tasks.
    tasks: TaskCalls

    def __init__(self, exchange: Exchange, settings: Settings, revision: Revision) -> None:
        self.revision = revision
        self.facts = ServerFacts()
        self.exchange = exchange
        self.settings = settings
        exchange.listener = self

    @abstractmethod
    async def request(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Raw:
        """Ask, answer whatever the server asks back, and return the final result."""

    @abstractmethod
    async def set_log_level(self, level: str) -> None:
        """From now on, log messages of this level and above are wanted."""

    @abstractmethod
    async def watch_lists(self) -> None:
        """See to it that the change callback hears of every list that changes."""

    @abstractmethod
    async def open_feed(self, subscription: Subscription) -> Interest:
        """Start to push changes; what the server agreed to."""

    @abstractmethod
    async def close_feed(self, subscription: Subscription) -> None:
        """Stop pushing changes."""

    @abstractmethod
    def on_notification(self, message: Notification) -> None:
        """The server tells something."""

    @abstractmethod
    def on_request(self, message: Request) -> None:
        """The server asks something."""

    @abstractmethod
    def on_closed(self, error: TransportError) -> None:
        """The server is gone."""

    def check_exists(self, method: str) -> None:
        """Raises UsageError for a method of the protocol that this revision lacks."""
        if method in _KNOWN_METHODS and method not in methods_at(self.revision):
            raise UsageError(f"{method} does not exist at revision {self.revision}")

    def has_capability(self, name: str, option: str | None = None) -> bool:
        """Whether the server declared it, and the option in it."""
        declared = self.facts.capabilities.get(name)
        if option is None or not isinstance(declared, dict):
            return declared is not None and option is None
        return bool(declared.get(option))

    @abstractmethod
    def on_session_ended(self) -> None:
        """The server has forgotten who we are, and nobody was asking."""

    def tell_log(self, message: Notification) -> None:
        """Pass a log message on to the callback."""
        if self.settings.on_log is not None:
            params = self.read_params(LogParams, message)
            if params is not None:
                self.exchange.tellings.start(resolve(self.settings.on_log, params))

    def tell_change(self, change: Change) -> None:
        """Pass a change of a list on to the callback."""
        if self.settings.on_change is not None:
            self.exchange.tellings.start(resolve(self.settings.on_change, change))

    def read_params(self, type_: type[T], message: Notification) -> T | None:
        """The params of a notification; a bad one is ignored, there is nobody to tell."""
        try:
            return codec.decode_as(type_, message.params or b"{}")
        except msgspec.ValidationError:
            self.exchange.stray(f"{message.method} with params that do not fit")
            return None


def check_log_level(level: str) -> None:
    """Raises UsageError for a level that does not exist."""
    if level not in LOG_LEVELS:
        raise UsageError(f"Unknown log level {level!r}; allowed: {', '.join(LOG_LEVELS)}")
