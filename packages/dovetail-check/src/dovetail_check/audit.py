"""The check itself: find out what is spoken, hold a sitting for each revision, keep everything.

All offers go out at once, each on a line of its own; a line whose offer was taken stays open and
becomes the main line of its sitting. Sittings run side by side, the probes of a line in order; a
second line, and probes that have one to themselves, do not wait for the first.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from dovetail.spec.revisions import LEGACY, REVISIONS, Family, Revision
from dovetail_check import pages
from dovetail_check.faults import Fault, fault_of
from dovetail_check.frames import Frame
from dovetail_check.lines.line import Line, LineError, Place
from dovetail_check.personas import Persona
from dovetail_check.probe_client import AuditContext, ProbeClient
from dovetail_check.probe_sessions import DOOR, OPENING
from dovetail_check.probing import Order, Probe, probes
from dovetail_check.recording import Recording
from dovetail_check.safety import SafetyPolicy
from dovetail_check.targets import CheckTarget

__all__ = ["Audit", "AuditOptions", "NeedsAuthError", "Progress"]

# Dates that no revision ever had: what a server offers instead shows how it negotiates.
STRANGE_OFFERS = ("1999-01-01", "2099-01-01")
# What a POST to the stream of the old transport gets (2025-11-25 basic/transports, backwards
# compatibility).
_REFUSALS = (400, 404, 405)
# Processes that start at the same time: more would only make each of them slower.
_AT_ONCE = max(2, os.cpu_count() or 2)


class NeedsAuthError(Exception):
    """The server wants credentials that were not given, or others than were given.

    `recording` holds what could be seen from outside, and can be judged: how strangers are
    refused, and where they are sent.
    """

    def __init__(self, text: str, recording: Recording) -> None:
        super().__init__(text)
        self.recording = recording


@dataclass(frozen=True)
class AuditOptions:
    """How to check."""

    revisions: Collection[Revision] = REVISIONS
    # The probes to run, by name; None: all.
    probes: Collection[str] | None = None
    calls: str = ""
    timeout: float = 5.0
    start_timeout: float = 30.0


@dataclass
class Progress:
    """How far a check has come, for whoever watches."""

    done: int = 0
    total: int = 0
    doing: str = ""
    told: Callable[[Progress], None] = field(default=lambda _: None, repr=False)

    def say(self, doing: str, *, done: int = 0) -> None:
        """Tell what is being done."""
        self.doing = doing
        self.done += done
        self.told(self)


class Audit:
    """One check of one target."""

    def __init__(
        self,
        target: CheckTarget,
        options: AuditOptions,
        recording: Recording | None = None,
        progress: Progress | None = None,
        faults: list[Fault] | None = None,
    ) -> None:
        """`faults` takes what went wrong in the checker itself; without it, it is raised."""
        pages.load()
        self.target = target
        self.options = options
        self.recording = recording or Recording(secrets=target.secrets)
        self.progress = progress or Progress()
        self._faults = faults
        self._policy = SafetyPolicy(options.calls, is_local=target.is_local)
        self._gate = asyncio.Semaphore(_AT_ONCE if target.command else 64)

    async def run(self) -> Recording:
        """Check; raises LineError where there is no server to talk to, NeedsAuthError."""
        talks = await self._survey()
        try:
            newest = max(
                (client.revision.order for client in talks if not client.is_modern), default=-1
            )
            chosen = [(client, self._choose(client, newest)) for client in talks]
            self.progress.total += sum(len(mine) for _, mine in chosen)
            await asyncio.gather(
                self._offer_strange(), *(self._sit(client, mine) for client, mine in chosen)
            )
        finally:
            await asyncio.gather(*(client.line.close() for client in talks))
        return self.recording

    def _choose(self, client: ProbeClient, newest: int) -> list[Probe]:
        wanted = self.options.probes
        # A legacy client says who it is once, so a second persona is a second process.
        is_apt = client.is_modern or not self.target.command or client.revision.order == newest
        fitting = [
            probe
            for probe in probes.values()
            if (wanted is None or probe.name in wanted or probe.order is Order.FIRST)
            and probe.fits(client)
            and (is_apt or probe.persona is Persona.BARE)
        ]
        return sorted(fitting, key=lambda probe: probe.order)

    # -- which revisions are spoken ---------------------------------------------------------------

    async def _survey(self) -> list[ProbeClient]:
        results = await self._offer_all()
        if not _talks_in(results) and self._may_be_old():
            self.target = structs.replace(self.target, transport="sse")
            old = await self._offer_all()
            results = old if _talks_in(old) else results
        talks = _talks_in(results)
        if not talks:
            await self._explain(results)
        return talks

    async def _offer_all(self) -> list[Any]:
        is_old = self.target.transport == "sse"
        offers = [
            revision
            for revision in REVISIONS
            if revision in self.options.revisions and (revision.old_sse or not is_old)
        ]
        return await asyncio.gather(
            *(self._offer(revision) for revision in offers), return_exceptions=True
        )

    async def _offer_strange(self) -> None:
        """Nothing depends on what comes of it, so nobody waits for it."""
        if self.target.transport == "sse" or not set(LEGACY) <= set(self.options.revisions):
            return
        # Where each is a process, one has to do.
        dates = STRANGE_OFFERS[-1:] if self.target.command else STRANGE_OFFERS
        with contextlib.suppress(LineError):
            await asyncio.gather(*(self._offer(LEGACY[-1], date) for date in dates))

    def _may_be_old(self) -> bool:
        """Whether the URL may be that of a stream: what is posted to it is refused."""
        return self.target.transport == "http" and any(
            frame.status in _REFUSALS for frame in self.recording.frames
        )

    async def _explain(self, results: list[Any]) -> None:
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, LineError):
                raise result
        if self.target.url and any(frame.status == 401 for frame in self.recording.frames):
            await self._look_from_outside()
            wanted = "other credentials" if self.target.headers else "credentials"
            raise NeedsAuthError(f"{self.target} answers 401: it wants {wanted}", self.recording)
        errors = [result for result in results if isinstance(result, LineError)]
        said = [frame.text for frame in self.recording.frames if frame.kind == "stderr"]
        hint = f"; its last words: {said[-1]}" if said else ""
        statuses = {f.status for f in self.recording.frames if f.kind == "received" and f.status}
        if statuses:
            hint = (
                f": status {', '.join(map(str, sorted(statuses)))} instead; is it the right path?"
            )
        moved = [frame.header("location") for frame in self.recording.frames if _is_moved(frame)]
        hint = f"; it sends everybody to {moved[0]}" if moved else hint
        raise errors[0] if errors else LineError(f"{self.target} answered no opening{hint}")

    async def _offer(self, revision: Revision, strange: str | None = None) -> ProbeClient | None:
        """Offer one revision; a conversation at it if the server took the offer."""
        name = f"offer {strange or revision}"
        place = Place(self.recording, f"{self.target.transport} survey", name)
        at = self._circumstances(revision)
        client = ProbeClient(at, self._connect(place))
        client.probe = OPENING
        async with self._gate:
            self.progress.say(f"offering {strange or revision}")
            opening = await client.open(strange)
        if strange is None and _is_taken(client):
            self._move_in(client, name)
            at.capabilities = (opening.result or {}).get("capabilities") or {}
            return client
        await client.line.close()
        return None

    async def _look_from_outside(self) -> None:
        """Run what needs no conversation; no revision was agreed on, so it is the newest one."""
        at = self._circumstances(max(self.options.revisions, key=lambda offered: offered.order))
        client = ProbeClient(at, self._connect(Place(self.recording, at.session, DOOR)))
        await client.line.open()
        for probe in self._choose(client, client.revision.order):
            if probe.at_door:
                await self._act(client, probe)
        await client.line.close()

    def _circumstances(self, revision: Revision) -> AuditContext:
        return AuditContext(
            recording=self.recording,
            transport=self.target.transport,
            revision=revision,
            policy=self._policy,
            connect=self._connect,
            timeout=self.options.timeout,
            start_timeout=self.options.start_timeout,
        )

    def _connect(self, place: Place) -> Line:
        return self.target.connect(place)

    def _move_in(self, client: ProbeClient, name: str) -> None:
        """The line belongs to its sitting from its first frame on."""
        old = client.line.place
        client.line.place = old._replace(session=client.at.session, line="main")
        for frame in self.recording.frames:
            if frame.session == old.session and frame.line == name:
                frame.session, frame.line = client.at.session, "main"

    # -- one sitting -----------------------------------------------------------------------------

    async def _sit(self, client: ProbeClient, chosen: list[Probe]) -> None:
        await self._act_all(client, [probe for probe in chosen if probe.order is Order.FIRST])
        rest = [probe for probe in chosen if probe.order is not Order.FIRST]
        mine = [probe for probe in rest if probe.persona is Persona.BARE]
        await asyncio.gather(
            self._act_all(client, [probe for probe in mine if not probe.apart]),
            # A copy has the same line, and says of its own which probe is at work.
            *(self._act_all(copy.copy(client), [probe]) for probe in mine if probe.apart),
            self._sit_capable(
                client, [probe for probe in rest if probe.persona is Persona.CAPABLE]
            ),
        )

    async def _act_all(self, client: ProbeClient, chosen: list[Probe]) -> None:
        try:
            for probe in chosen:
                self.progress.say(f"{client.at.session}: {probe.name}", done=1)
                await self._act(client, probe)
        except LineError as error:
            # It ended and does not come back; what was seen until now still counts.
            client.line.place.add("failed", str(error).encode(), tag=client.probe)

    async def _sit_capable(self, client: ProbeClient, chosen: list[Probe]) -> None:
        """The probes of a client that can be asked for everything, on a second line."""
        openers = [probe for probe in chosen if probe.opens]
        others = [probe for probe in chosen if not probe.opens and _may_ask(client)]
        self.progress.done += len(chosen) - len(openers) - len(others)
        if not openers and not others:
            return
        capable = self._connect_capable(client)
        try:
            await capable.line.open()
            await self._act_all(capable, openers)
            if others and not capable.is_at_work:
                await capable.line.close()
                capable = self._connect_capable(client)
                await capable.open()
            await self._act_all(capable, others)
        except LineError as error:
            capable.line.place.add("failed", str(error).encode(), tag=capable.probe)
        finally:
            await capable.line.close()

    def _connect_capable(self, client: ProbeClient) -> ProbeClient:
        place = client.line.place._replace(line="capable")
        return ProbeClient(client.at, self._connect(place), Persona.CAPABLE)

    async def _act(self, client: ProbeClient, probe: Probe) -> None:
        if not client.line.is_open and not probe.apart:
            await client.revive()
        client.probe = probe.name
        try:
            await probe.act(client)
        except LineError:
            raise
        except Exception as error:
            if self._faults is None:
                raise
            self._faults.append(fault_of(f"probe {probe.name}, {client.at.session}", error))


def _may_ask(client: ProbeClient) -> bool:
    """Whether there is anything that may lead the server to ask."""
    return bool(client.callable_tools() or client.catalogue.prompts or client.catalogue.resources)


def _is_moved(frame: Frame) -> bool:
    return frame.status in (301, 302, 307, 308)


def _talks_in(results: list[Any]) -> list[ProbeClient]:
    return [client for client in results if isinstance(client, ProbeClient)]


def _is_taken(client: ProbeClient) -> bool:
    result = client.opening.result if client.opening is not None else None
    if result is None or client.opening is None or client.opening.status == 401:
        # A result that comes with a refusal is no invitation.
        return False
    if client.revision.family is Family.MODERN:
        return True
    return result.get("protocolVersion") == client.revision.date
