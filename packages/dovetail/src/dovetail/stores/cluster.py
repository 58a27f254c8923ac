"""The interface between the processes of a cluster: broadcasts, messages, requests.

A process is a node with a random name. Handlers are registered by topic and run on the event loop
that opened the cluster, in the order in which the messages were sent; they must not block.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

__all__ = ["Cluster", "ClusterStatistics", "MessageHandler", "RequestHandler"]

# The name of the node that sent it, and the message.
MessageHandler: TypeAlias = Callable[[str, bytes], None]
RequestHandler: TypeAlias = Callable[[str, bytes], Awaitable[bytes]]


@dataclass(slots=True)
class ClusterStatistics:
    """What has happened in this process since it started."""

    # Messages of other processes.
    messages: int = 0
    # How often messages may have been lost.
    resets: int = 0
    # Tasks of processes that have ended.
    tasks_taken_over: int = 0


class Cluster(Protocol):
    """The other processes that serve the same server."""

    @property
    def node(self) -> str:
        """The name of this process; contains only letters and digits."""

    @property
    def problem(self) -> str | None:
        """Why the cluster cannot be used at the moment; None if it can."""

    @property
    def statistics(self) -> ClusterStatistics:
        """Counters for metrics."""

    def on_message(self, topic: str, handler: MessageHandler) -> None:
        """Handle messages of other nodes; a topic may have several handlers."""

    def on_request(self, topic: str, handler: RequestHandler) -> None:
        """Answer requests of other nodes."""

    def on_reset(self, handler: Callable[[], None]) -> None:
        """Call `handler` when messages may have been lost, or the store has lost its contents."""

    def on_emptied(self, handler: Callable[[], None]) -> None:
        """Call `handler` when the store has lost its contents; `on_reset` handlers run as well."""

    def publish(self, topic: str, message: bytes) -> None:
        """Send to all other nodes; from any thread. If it cannot be sent, they are reset later."""

    async def publish_and_wait(self, topic: str, message: bytes) -> None:
        """Send to all other nodes, and return when it was sent to those that are connected.

        A node that is busy handles it a moment later. Raises StoreError.
        """

    def send(self, node: str, topic: str, message: bytes) -> None:
        """Send to one node, if it exists."""

    async def request(self, node: str, topic: str, message: bytes) -> bytes:
        """Send to one node and return its answer; raises StoreError if it is gone."""

    async def is_alive(self, node: str) -> bool:
        """Whether a node has reported in the last seconds; raises StoreError."""
