"""A legacy session: what `initialize` settled, and the states it goes through.

    nothing --initialize--> GREETED --notifications/initialized--> READY

In GREETED the server answers requests but sends none of its own (but ping) and no
change notifications: lifecycle.init.no-early-requests. A session lives as long as the
stdio process, the in-memory pair or the HTTP session that carries it.
"""

from __future__ import annotations

from typing import Any

from dovetail.core.call import Peer
from dovetail.eras.legacy.back_channel import BackChannel
from dovetail.spec.models import ClientInfo
from dovetail.spec.revisions import Revision

__all__ = ["Session"]


class Session:
    """One client after its handshake."""

    __slots__ = (
        "_peer",
        "back_channel",
        "capabilities",
        "client",
        "declared",
        "is_kept",
        "log_rank",
        "ready",
        "revision",
        "tasks",
        "uris",
    )

    def __init__(
        self,
        revision: Revision,
        client: ClientInfo | None,
        capabilities: dict[str, Any],
        log_rank: int | None,
    ) -> None:
        self.revision = revision
        self.client = client
        self.capabilities = capabilities
        self.log_rank = log_rank
        # How to send requests to the client; None where nothing can be sent.
        self.back_channel: BackChannel | None = None
        self._peer: Peer | None = None
        self.ready = False
        # What the server said it can do; a client hears of nothing that it was not told of.
        self.declared: frozenset[str] = frozenset()
        # Whether anybody will find this session again: what it is told is worth keeping.
        self.is_kept = True
        # Resources the client has subscribed to.
        self.uris: set[str] = set()
        # Tasks it has made, of which it is told.
        self.tasks: set[str] = set()

    def peer(self) -> Peer:
        """The client, as a call needs to know it."""
        if self._peer is None or self._peer.log_rank != self.log_rank:
            self._peer = Peer(self.client, self.capabilities, self.log_rank)
        return self._peer
