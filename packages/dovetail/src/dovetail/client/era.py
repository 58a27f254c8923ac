"""The base class of the two client eras, and the settings they share.

`negotiation.py` picks one when a client opens; the rest of the client does not need to know which.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import Raw

from dovetail.client.callbacks import ClientCallbacks
from dovetail.client.results import ServerFacts
from dovetail.client.rpc import ProgressCallback, RpcConnection
from dovetail.client.subscriptions import Change, Interest, Subscription
from dovetail.client.telemetry import Telemetry
from dovetail.errors import TransportError, UsageError
from dovetail.net.background import resolve
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
NotificationCallback: TypeAlias = Callable[[Notification], None]

_KNOWN_METHODS = frozenset(method.name for method in METHODS)


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of a client."""

    name: str
    version: str
    callbacks: ClientCallbacks
    on_log: LogCallback | None = None
    on_change: ChangeCallback | None = None
    # Members of `_meta` in the first request.
    first_meta: Mapping[str, Any] | None = None
    # Called with notifications that the client itself does not use.
    on_notification: NotificationCallback | None = None
    timeout: float = 30.0
    log_level: str = "info"
    # How often a request is retried because the server wants more input.
    max_rounds: int = 10
    # The settings of extensions that the client declares, by revision.
    extensions: Callable[[Revision], Mapping[str, Any]] = lambda revision: {}
    # Observes requests; None: they are not observed.
    telemetry: Telemetry | None = None


class ClientEra(ABC):
    """An open connection that speaks one era of the protocol."""

    def __init__(self, rpc: RpcConnection, settings: Settings, revision: Revision) -> None:
        self.revision = revision
        self.facts: ServerFacts = ServerFacts()
        self.rpc = rpc
        self.settings = settings
        rpc.listener = self

    @abstractmethod
    async def request(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
        meta: dict[str, Any] | None = None,
        extensions: Mapping[str, Any] | None = None,
        result_types: Collection[str] = (),
    ) -> Raw:
        """Send a request, provide the inputs the server asks for, and return the final result.

        `extensions` are declared with this request, and its result may be of their
        `result_types`, in eras that have them.
        """

    @abstractmethod
    async def exchange(
        self,
        method: str,
        params: dict[str, Any] | None,
        *,
        timeout: float,
        progress: ProgressCallback | None = None,
    ) -> Raw:
        """Send one request as given, with its `_meta`, and return its result of any type."""

    @abstractmethod
    async def set_log_level(self, level: str) -> None:
        """Request log messages of this level and above."""

    @abstractmethod
    async def watch_lists(self) -> None:
        """Make the change callback receive every list change."""

    @abstractmethod
    async def open_feed(self, subscription: Subscription) -> Interest:
        """Start pushing changes; returns what the server agreed to send."""

    @abstractmethod
    async def close_feed(self, subscription: Subscription) -> None:
        """Stop pushing changes."""

    @abstractmethod
    def on_notification(self, message: Notification) -> None:
        """Handle a notification."""

    @abstractmethod
    def on_request(self, message: Request) -> None:
        """Handle a request from the server."""

    @abstractmethod
    def on_closed(self, error: TransportError) -> None:
        """Handle the end of the connection."""

    def check_exists(self, method: str) -> None:
        """Raise UsageError for a protocol method that this revision does not have."""
        if method in _KNOWN_METHODS and method not in methods_at(self.revision):
            raise UsageError(f"{method} does not exist at revision {self.revision}")

    def has_capability(self, name: str, option: str | None = None) -> bool:
        """Whether the server declared a capability, and the option in it."""
        declared = self.facts.capabilities.get(name)
        if option is None or not isinstance(declared, dict):
            return declared is not None and option is None
        return bool(declared.get(option))

    @abstractmethod
    def on_session_ended(self) -> None:
        """Handle the end of the session while no request is pending."""

    def deliver_log(self, message: Notification) -> None:
        """Pass a log message to the callback."""
        if self.settings.on_log is not None:
            params = self.read_params(LogParams, message)
            if params is not None:
                self.rpc.notification_tasks.start(resolve(self.settings.on_log, params))

    def deliver_other(self, message: Notification) -> None:
        """Pass a notification that the client does not use to the callback."""
        if self.settings.on_notification is not None:
            self.settings.on_notification(message)

    def deliver_change(self, change: Change) -> None:
        """Pass a list change to the callback."""
        if self.settings.on_change is not None:
            self.rpc.notification_tasks.start(resolve(self.settings.on_change, change))

    def read_params(self, type_: type[T], message: Notification) -> T | None:
        """The params of a notification; None if they are invalid, as it cannot be answered."""
        try:
            return codec.decode_as(type_, message.params or b"{}")
        except msgspec.ValidationError:
            self.rpc.note_unexpected(f"{message.method} with invalid params")
            return None


def check_log_level(level: str) -> None:
    """Raise UsageError for an unknown log level."""
    if level not in LOG_LEVELS:
        raise UsageError(f"Unknown log level {level!r}; allowed: {', '.join(LOG_LEVELS)}")
