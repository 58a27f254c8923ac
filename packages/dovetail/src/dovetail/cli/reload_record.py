"""What a new server process must know about the client that stays connected during a reload.

The record takes the messages that pass in both directions. It replays the handshake, the log level
and the subscriptions of a legacy client, and the listen streams of a modern client. Responses to
replayed requests have private ids and do not reach the client.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Raw

from dovetail.core.changes import ChangeKind
from dovetail.spec.keys import SUBSCRIPTION_ID
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Request, Response

__all__ = ["LISTEN", "ReloadRecord", "is_replayed", "list_changes", "stream_of"]

LISTEN = "subscriptions/listen"
_INITIALIZE, _INITIALIZED = "initialize", "notifications/initialized"
_SET_LEVEL = "logging/setLevel"
_SUBSCRIBE, _UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
_PRIVATE_ID = b'"dovetail-reload-'
# Capability, or member of the filter of a listen stream -> its notification.
_LISTS = {
    "tools": ChangeKind.TOOLS,
    "prompts": ChangeKind.PROMPTS,
    "resources": ChangeKind.RESOURCES,
}


class ReloadRecord:
    """The state of one client that a new server process needs."""

    def __init__(self) -> None:
        self._handshake: Request | None = None
        self._capabilities: dict[str, Any] = {}
        self._is_initialized = False
        self._level: Raw | None = None
        self._subscriptions: dict[str, Raw] = {}
        # Open listen streams by their id.
        self._streams: dict[bytes, Request] = {}

    # -- recording ------------------------------------------------------------------------------

    def sent(self, message: Request | Notification) -> None:
        """Record a message of the client that is passed to the server."""
        if message.method == _INITIALIZED:
            self._is_initialized = True
        elif message.method == LISTEN and isinstance(message, Request):
            self._streams[message.id] = message

    def answered(self, request: Request, response: Response) -> None:
        """Record the response to a request of the client."""
        self._streams.pop(request.id, None)
        if response.error is not None or request.params is None:
            return
        if request.method == _INITIALIZE:
            self._handshake = request
            self._capabilities = _members(response.result).get("capabilities") or {}
        elif request.method == _SET_LEVEL:
            self._level = request.params
        elif request.method == _SUBSCRIBE:
            self._subscriptions[_members(request.params).get("uri", "")] = request.params
        elif request.method == _UNSUBSCRIBE:
            self._subscriptions.pop(_members(request.params).get("uri", ""), None)

    def cancelled(self, id: bytes) -> None:
        """Record that the client has cancelled a request."""
        self._streams.pop(id, None)

    @property
    def streams(self) -> list[Request]:
        """The open listen streams."""
        return list(self._streams.values())

    def has_stream(self, id: bytes) -> bool:
        """Whether a listen stream with this id is open."""
        return id in self._streams

    # -- replaying ------------------------------------------------------------------------------

    def replay(self) -> Iterator[bytes]:
        """The messages for a new server process."""
        if self._handshake is not None:
            yield from self._replay_session(self._handshake)
        for stream in self._streams.values():
            yield codec.encode_request(stream.id, stream.method, stream.params)

    def _replay_session(self, handshake: Request) -> Iterator[bytes]:
        requests = [(_INITIALIZE, handshake.params)]
        if self._level is not None:
            requests.append((_SET_LEVEL, self._level))
        requests += [(_SUBSCRIBE, params) for params in self._subscriptions.values()]
        for number, (method, params) in enumerate(requests):
            yield codec.encode_request(b'%b%d"' % (_PRIVATE_ID, number), method, params)
            if method == _INITIALIZE and self._is_initialized:
                yield codec.encode_notification(_INITIALIZED)

    def list_changes(self) -> Iterator[bytes]:
        """The notifications that tell a legacy client to read all lists again."""
        if self._is_initialized:
            for name, kind in _LISTS.items():
                if (self._capabilities.get(name) or {}).get("listChanged"):
                    yield codec.encode_notification(kind.value)


def is_replayed(response: Response) -> bool:
    """Whether this is the response to a replayed request."""
    return response.id is not None and response.id.startswith(_PRIVATE_ID)


def stream_of(message: Notification) -> bytes | None:
    """The id of the listen stream that a notification belongs to."""
    meta = _members(message.params).get("_meta") or {}
    return codec.encode(meta[SUBSCRIPTION_ID]) if SUBSCRIPTION_ID in meta else None


def list_changes(acknowledged: Notification) -> Iterator[bytes]:
    """The notifications that tell a modern client to read the lists of a stream again."""
    params = _members(acknowledged.params)
    wanted = params.get("notifications") or {}
    for name, kind in _LISTS.items():
        if wanted.get(f"{name}ListChanged"):
            yield codec.encode_notification(kind.value, codec.encode({"_meta": params["_meta"]}))


def _members(raw: Raw | None) -> dict[str, Any]:
    value = None if raw is None else codec.decode_json(raw)
    return value if isinstance(value, dict) else {}
