"""The modern implementation of `Era`, and server/discover.

Results get `_meta`, a question to the client ends the run.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import msgspec
from msgspec import Raw, Struct

from dovetail.core.call import Ask, Call
from dovetail.core.dispatch import MethodHandler, Shaped
from dovetail.core.era import CacheHint, Era
from dovetail.core.identity import Identity
from dovetail.eras.modern.mrtr import InputRounds
from dovetail.errors import DovetailError, InvalidParamsError, MissingCapabilityError
from dovetail.spec.keys import SERVER_INFO
from dovetail.spec.models import DiscoverResult, Implementation
from dovetail.spec.revisions import MODERN, Revision
from dovetail.wire import codec

__all__ = ["ModernEra", "discover_methods"]


class ModernEra(Era):
    """A stateless revision; every result contains the server info."""

    def __init__(
        self, revision: Revision, implementation: Implementation, rounds: InputRounds
    ) -> None:
        super().__init__(revision)
        self.rounds = rounds
        self._server_info = msgspec.to_builtins(implementation)
        # base.result.resulttype (2026-07-28 basic/index), base.resmeta.serverinfo: both are
        # the same for every result, so they are encoded once and put before its members.
        self._head = self._stamp({})

    def _stamp(self, meta: dict[str, Any]) -> bytes:
        stamped = {"resultType": "complete", "_meta": {**meta, SERVER_INFO: self._server_info}}
        return codec.encode(stamped)[:-1]

    def complete(
        self, result: Struct | dict[str, Any] | Raw, hint: CacheHint | None = None
    ) -> bytes:
        """The result with its type, the server info and, if given, cache hints."""
        head = self._head
        if isinstance(result, Raw):
            return b"%b,%b" % (head, bytes(result)[1:])
        own_meta = getattr(result, "meta", None)
        if own_meta is not None:
            assert isinstance(result, Struct)
            head = self._stamp(own_meta)
            result = msgspec.structs.replace(result, meta=None)
        if hint is not None:
            # caching.* (2026-07-28 server/utilities/caching)
            head += b',"ttlMs":%d,"cacheScope":"%b"' % (hint.ttl_ms, hint.scope.encode())
        members = codec.encode(result)
        return head + (members[1:] if len(members) == 2 else b"," + members[1:])

    def interim(self, result_type: str, members: dict[str, Any]) -> bytes:
        """The members with the type and the server info."""
        meta = {SERVER_INFO: self._server_info}
        return codec.encode({"resultType": result_type, "_meta": meta, **members})

    def undeclared(self, call: Call, required: dict[str, Any]) -> DovetailError:
        """base.reqmeta.missing-capability-32021 (2026-07-28 basic/index)."""
        return MissingCapabilityError(required)

    def bad_answer(self, text: str) -> DovetailError:
        """mrtr.protocol-errors (2026-07-28 basic/patterns/mrtr): answers are params here."""
        return InvalidParamsError(text)

    def ask(self, call: Call, ask: Ask) -> Coroutine[Any, Any, Raw]:
        """Return the recorded answer or end this run; a task waits for the answer instead."""
        return self.rounds.ask(call, ask) if call.detached is None else call.detached.ask(ask)


def discover_methods(identity: Identity, hint: CacheHint) -> dict[str, MethodHandler]:
    """The method handler of server/discover."""

    def discover(call: Call) -> Shaped:
        # versioning.supported-honoured: a version that needs a handshake is not in this list,
        # because a request that names it in `_meta` is not served
        capabilities: dict[str, Any] = identity.capabilities_at(
            call.era.revision, call.link.channels
        )
        result = DiscoverResult(
            supported_versions=[revision.date for revision in MODERN],
            capabilities=capabilities,
            instructions=identity.instructions,
        )
        # caching.public-aware (2026-07-28 server/utilities/caching): a guard's callers differ
        is_guarded = call.services.permission is not None
        return Shaped(result, hint._replace(scope="private") if is_guarded else hint)

    return {"server/discover": MethodHandler(discover)}
