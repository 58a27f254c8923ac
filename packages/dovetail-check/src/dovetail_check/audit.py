"""The audit of one target: negotiate the revisions, then run the probes in one session for each.

All revisions are offered at once, each on its own connection. A connection whose offer is accepted
stays open as the main connection of its session. Sessions run concurrently. The probes of a
connection run in order; concurrent probes and the client with the full profile do not wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from dovetail.spec.revisions import LEGACY, REVISIONS, Family, Revision, find_revision
from dovetail_check import registry
from dovetail_check.budget import Budget
from dovetail_check.client_profiles import ClientProfile
from dovetail_check.connections.base import Connection, Recorder, UnreachableError
from dovetail_check.connections.http_connection import HttpConnection
from dovetail_check.connections.throttle import Throttle
from dovetail_check.faults import Fault, fault_of
from dovetail_check.frames import Frame
from dovetail_check.http_traffic import is_rejected
from dovetail_check.probe_client import AuditContext, ProbeClient
from dovetail_check.probe_sessions import LISTED, OPENING, PRE_AUTH
from dovetail_check.probes.walk import LISTS
from dovetail_check.probing import Order, Probe, probes
from dovetail_check.recording import Recording
from dovetail_check.safety import SafetyPolicy
from dovetail_check.targets import CheckTarget
from dovetail_check.unobserved import exchanges_in
from dovetail_check.verdicts import Verdict

__all__ = ["TIME_LIMIT", "Audit", "AuditOptions", "NeedsAuthError", "Progress"]

# Dates that are not revisions: the version that a server offers instead shows how it negotiates.
UNKNOWN_VERSIONS = ("1999-01-01", "2099-01-01")
# The number of versions to offer that the server names itself.
_MAX_LISTED = 3
# Statuses of a POST to the stream URL of HTTP+SSE (2025-11-25 basic/transports, backwards
# compatibility).
_REJECTED_POST = (400, 404, 405)
# Seconds that a check may take; most take less than twenty.
TIME_LIMIT = 900.0
# The number of connections that a server may flood.
_MAX_FLOODS = 3
# Processes that start at the same time; more would only slow each other down.
_MAX_STARTS = max(2, os.cpu_count() or 2)


class NeedsAuthError(Exception):
    """The server requires credentials, or rejected the given ones.

    `recording` holds the unauthenticated traffic, which rules can still evaluate.
    """

    def __init__(self, text: str, recording: Recording) -> None:
        super().__init__(text)
        self.recording = recording


@dataclass(frozen=True)
class AuditOptions:
    """The options of an audit."""

    revisions: Collection[Revision] = REVISIONS
    # Names of the probes to run; None runs all.
    probes: Collection[str] | None = None
    calls: str = ""
    timeout: float = 5.0
    start_timeout: float = 30.0
    # Of the whole audit.
    time_limit: float = TIME_LIMIT


@dataclass
class Progress:
    """The progress of a check, for display."""

    done: int = 0
    total: int = 0
    activity: str = ""
    on_change: Callable[[Progress], None] = field(default=lambda _: None, repr=False)
    # Called after a probe is finished in all sessions.
    on_probe: Callable[[], None] = field(default=lambda: None, repr=False)
    # Called with the id of a rule and its verdict so far; see `early_verdicts`.
    on_verdict: Callable[[str, Verdict], None] | None = field(default=None, repr=False)
    _pending: Counter[str] = field(default_factory=Counter, repr=False)

    def plan(self, names: Iterable[str]) -> None:
        """Add probes that are going to run, once for each session."""
        planned = Counter(names)
        self.total += planned.total()
        self._pending += planned

    def finish(self, name: str) -> None:
        """Note that a probe is finished in one session."""
        self._pending[name] -= 1
        if not self.is_pending(name):
            self.on_probe()

    def is_pending(self, name: str) -> bool:
        """Whether a probe still runs or is going to run."""
        return self._pending[name] > 0

    def update(self, activity: str, *, done: int = 0) -> None:
        """Set the current activity and call `on_change`."""
        self.activity = activity
        self.done += done
        self.on_change(self)


class Audit:
    """The audit of one target."""

    def __init__(
        self,
        target: CheckTarget,
        options: AuditOptions,
        recording: Recording | None = None,
        progress: Progress | None = None,
        faults: list[Fault] | None = None,
    ) -> None:
        """`faults` collects exceptions of probes; without it, they are raised."""
        registry.load()
        self.target = target
        self.options = options
        self.recording = recording or Recording(secrets=target.secrets)
        self.progress = progress or Progress()
        self._faults = faults
        self._policy = SafetyPolicy(options.calls, is_local=target.is_local)
        self._throttle = Throttle()
        # The limits are those of one audit; several audits share a recording.
        self.recording.budget = Budget()
        self._floods = len(self.recording.floods)
        # Session and name of the probes that are not finished.
        self._unfinished: dict[tuple[str, str], None] = {}
        self._start_limit = asyncio.Semaphore(_MAX_STARTS if target.command else 64)

    async def run(self) -> Recording:
        """Run all probes, or those that the time limit allows.

        Raises UnreachableError, NeedsAuthError.
        """
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        timer = loop.call_later(self.options.time_limit, self._stop, task)
        try:
            await self._run()
        except asyncio.CancelledError:
            if not self.recording.stopped or task.uncancel() > 0:
                raise
            if not self._unfinished:
                text = f"{self.target} accepted no revision: {self.recording.stopped}"
                raise UnreachableError(text) from None
        finally:
            timer.cancel()
        reason = self.recording.stopped or "the server sent too much"
        if self.recording.stopped or len(self.recording.floods) > self._floods:
            for session, name in self._unfinished:
                self.recording.add(session, "main", "stopped", reason.encode(), tag=name)
        return self.recording

    def _stop(self, task: asyncio.Task[Any]) -> None:
        self.recording.stopped = "the time limit has passed (--time-limit)"
        task.cancel()

    @property
    def _is_flooded(self) -> bool:
        """Whether the server sent too much so often that no more connections are opened."""
        return len(self.recording.floods) - self._floods >= _MAX_FLOODS

    async def _run(self) -> None:
        clients = await self._survey()
        try:
            newest = max(
                (client.revision.order for client in clients if not client.is_modern), default=-1
            )
            chosen = [(client, self._choose(client, newest)) for client in clients]
            self._unfinished = {
                (client.context.session, probe.name): None
                for client, mine in chosen
                for probe in mine
            }
            self.progress.plan(probe.name for _, mine in chosen for probe in mine)
            await asyncio.gather(
                self._offer_unknown(),
                self._offer_listed(),
                *(self._run_session(client, mine) for client, mine in chosen),
            )
            await self._see_if_gone(clients[0])
        finally:
            await asyncio.gather(*(client.connection.close() for client in clients))

    async def _see_if_gone(self, client: ProbeClient) -> None:
        """Send one more request if nothing arrived over HTTP after a failure.

        If the server refuses the connection, it had died, and the failure shows nothing else.
        """
        ends = ("received", "event", "failed")
        last = next((frame for frame in self.recording.frames[::-1] if frame.kind in ends), None)
        if self.target.transport == "http" and last is not None and last.kind == "failed":
            with contextlib.suppress(UnreachableError):
                await client.fence()

    def _choose(self, client: ProbeClient, newest: int) -> list[Probe]:
        wanted = self.options.probes
        # A legacy client declares its capabilities once per process. To start fewer processes, only
        # the newest legacy revision is tested with other profiles.
        allows_profiles = (
            client.is_modern or not self.target.command or client.revision.order == newest
        )
        fitting = [
            probe
            for probe in probes.values()
            if (wanted is None or probe.name in wanted or probe.order is Order.FIRST)
            and probe.applies_to(client)
            and (allows_profiles or probe.profile is ClientProfile.MINIMAL)
        ]
        return sorted(fitting, key=lambda probe: probe.order)

    # -- version negotiation ----------------------------------------------------------------------

    async def _survey(self) -> list[ProbeClient]:
        results = await self._offer_all()
        if not _clients_in(results) and self._may_be_old_sse():
            self.target = structs.replace(self.target, transport="sse")
            old = await self._offer_all()
            results = old if _clients_in(old) else results
        clients = _clients_in(results)
        if not clients:
            await self._raise_unreachable(results)
        return clients

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

    async def _offer_unknown(self) -> None:
        """Offer dates that are not revisions; no other probe depends on the result."""
        if self.target.transport == "sse" or not set(LEGACY) <= set(self.options.revisions):
            return
        with contextlib.suppress(UnreachableError):
            await asyncio.gather(*(self._offer(LEGACY[-1], date) for date in UNKNOWN_VERSIONS))

    async def _offer_listed(self) -> None:
        """Offer versions that the server names itself and that are not known revisions."""
        if self.target.transport == "sse":
            return
        named = _unknown_versions(self.recording.frames)
        with contextlib.suppress(UnreachableError):
            for version, family in list(named.items())[:_MAX_LISTED]:
                last = [one for one in self.options.revisions if one.family is family][-1:]
                for revision in last:
                    await self._offer(revision, version, name=f"{LISTED} {version}")

    def _may_be_old_sse(self) -> bool:
        """Whether the URL may be an HTTP+SSE stream: it rejects POSTs."""
        return self.target.transport == "http" and any(
            frame.status in _REJECTED_POST for frame in self.recording.frames
        )

    async def _raise_unreachable(self, results: list[Any]) -> None:
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, UnreachableError):
                raise result
        if self.target.url and any(frame.status == 401 for frame in self.recording.frames):
            await self._probe_pre_auth()
            wanted = "other credentials" if self.target.headers else "credentials"
            raise NeedsAuthError(
                f"{self.target} responds with 401: it requires {wanted}", self.recording
            )
        errors = [result for result in results if isinstance(result, UnreachableError)]
        stderr = [frame.text for frame in self.recording.frames if frame.kind == "stderr"]
        hint = f"; last line on stderr: {stderr[-1]}" if stderr else ""
        floods = [frame.text for frame in self.recording.frames if frame.kind == "flooded"]
        hint = f"; {floods[0]}" if floods else hint
        statuses = {f.status for f in self.recording.frames if f.kind == "received" and f.status}
        if statuses:
            hint = (
                f"; got status {', '.join(map(str, sorted(statuses)))}: check the path of the URL"
            )
        redirects = [
            frame.header("location") for frame in self.recording.frames if _is_redirect(frame)
        ]
        hint = f"; it redirects to {redirects[0]}" if redirects else hint
        raise errors[0] if errors else UnreachableError(f"{self.target} accepted no revision{hint}")

    async def _offer(
        self, revision: Revision, version: str | None = None, name: str = ""
    ) -> ProbeClient | None:
        """Offer one revision; returns a client if the server accepts it."""
        name = name or f"offer {version or revision}"
        recorder = Recorder(self.recording, f"{self.target.transport} survey", name)
        context = self._make_context(revision)
        client = ProbeClient(context, self._connect(recorder))
        client.probe = OPENING
        async with self._start_limit:
            self.progress.update(f"offering {version or revision}")
            opening = await client.open(version)
            if self.target.command and opening.failure is not None:
                # If the process exits again, the offer is the reason.
                await client.connection.close()
                client = ProbeClient(context, self._connect(recorder))
                client.probe = OPENING
                opening = await client.open(version)
        if version is None and _is_accepted(client):
            self._assign_to_session(client, name)
            context.capabilities = (opening.result or {}).get("capabilities") or {}
            return client
        if version is None and client.is_modern and opening.replies and not opening.is_silent:
            context.capabilities = await self._find_features(client)
            if context.capabilities:
                self._assign_to_session(client, name)
                return client
        await client.connection.close()
        return None

    async def _find_features(self, client: ProbeClient) -> dict[str, Any]:
        """The features of a server of the modern era that does not implement server/discover."""
        found: dict[str, Any] = {}
        for capability, method, _, _ in LISTS:
            listed = await client.request(method, {}, tag=f"{OPENING}-{capability}")
            if listed.answer is None:
                break
            # base.result.resulttype (2026-07-28 basic/index): legacy results do not have it.
            if "resultType" in (listed.result or {}) and not is_rejected(listed):
                found[capability] = {}
        return found

    async def _probe_pre_auth(self) -> None:
        """Run the probes that need no credentials, at the newest revision."""
        context = self._make_context(max(self.options.revisions, key=lambda offered: offered.order))
        client = ProbeClient(
            context, self._connect(Recorder(self.recording, context.session, PRE_AUTH))
        )
        await client.connection.open()
        for probe in self._choose(client, client.revision.order):
            if probe.pre_auth:
                await self._run_probe(client, probe)
        await client.connection.close()

    def _make_context(self, revision: Revision) -> AuditContext:
        return AuditContext(
            recording=self.recording,
            transport=self.target.transport,
            revision=revision,
            policy=self._policy,
            connect=self._connect,
            timeout=self.options.timeout,
            start_timeout=self.options.start_timeout,
        )

    def _connect(self, recorder: Recorder) -> Connection:
        if self._is_flooded:
            times = f"{_MAX_FLOODS} connections were closed"
            raise UnreachableError(f"{self.target} sends more than the checker keeps: {times}")
        connection = self.target.connect(recorder)
        if isinstance(connection, HttpConnection):
            connection.throttle = self._throttle
        return connection

    def _assign_to_session(self, client: ProbeClient, name: str) -> None:
        """Move the frames of a connection from the survey to its session."""
        old = client.connection.recorder
        client.connection.recorder = old._replace(session=client.context.session, connection="main")
        for frame in self.recording.frames:
            if frame.session == old.session and frame.connection == name:
                frame.session, frame.connection = client.context.session, "main"

    # -- one session -----------------------------------------------------------------------------

    async def _run_session(self, client: ProbeClient, chosen: list[Probe]) -> None:
        await self._run_probes(client, [probe for probe in chosen if probe.order is Order.FIRST])
        rest = [probe for probe in chosen if probe.order is not Order.FIRST]
        mine = [probe for probe in rest if probe.profile is ClientProfile.MINIMAL]
        await asyncio.gather(
            self._run_probes(client, [probe for probe in mine if not probe.concurrent]),
            # A copy shares the connection but has its own `probe` tag.
            *(self._run_probes(copy.copy(client), [probe]) for probe in mine if probe.concurrent),
            self._run_full_profile(
                client, [probe for probe in rest if probe.profile is ClientProfile.FULL]
            ),
        )

    async def _run_probes(self, client: ProbeClient, chosen: list[Probe]) -> None:
        try:
            for probe in chosen:
                self.progress.update(f"{client.context.session}: {probe.name}", done=1)
                floods = self.recording.floods.count(client.context.session)
                await self._run_probe(client, probe)
                if floods == self.recording.floods.count(client.context.session):
                    self._unfinished.pop((client.context.session, probe.name), None)
                self.progress.finish(probe.name)
        except UnreachableError as error:
            # The server cannot be restarted; the traffic so far is still evaluated.
            self._note_failure(client, error)

    async def _run_full_profile(self, client: ProbeClient, chosen: list[Probe]) -> None:
        """Run the probes of the full profile on a second connection."""
        openers = [probe for probe in chosen if probe.opens_connection]
        others = [
            probe
            for probe in chosen
            if not probe.opens_connection and _may_trigger_requests(client)
        ]
        skipped = [probe for probe in chosen if probe not in openers and probe not in others]
        self.progress.done += len(skipped)
        for probe in skipped:
            self.progress.finish(probe.name)
            self._unfinished.pop((client.context.session, probe.name), None)
        full = client
        try:
            if openers or others:
                full = self._connect_full_profile(client)
                await full.connection.open()
                await self._run_probes(full, openers)
            if others and not full.is_ready:
                await full.connection.close()
                full = self._connect_full_profile(client)
                await full.open()
            await self._run_probes(full, others)
        except UnreachableError as error:
            self._note_failure(full, error)
        finally:
            if full is not client:
                await full.connection.close()

    def _note_failure(self, client: ProbeClient, error: UnreachableError) -> None:
        if not self._is_flooded:
            client.connection.recorder.add("failed", str(error).encode(), tag=client.probe)

    def _connect_full_profile(self, client: ProbeClient) -> ProbeClient:
        recorder = client.connection.recorder._replace(connection="full")
        return ProbeClient(client.context, self._connect(recorder), ClientProfile.FULL)

    async def _run_probe(self, client: ProbeClient, probe: Probe) -> None:
        if not client.connection.is_open and not probe.concurrent:
            await client.reconnect()
        client.probe = probe.name
        before = client.connection
        try:
            await probe.run(client)
            if not (before.is_open or before.is_flooded or probe.concurrent):
                # The process exited. If it exits again, the probe is the reason.
                await client.reconnect(opened=not probe.opens_connection)
                client.probe = probe.name
                await probe.run(client)
        except UnreachableError:
            raise
        except Exception as error:
            if self._faults is None:
                raise
            self._faults.append(fault_of(f"probe {probe.name}, {client.context.session}", error))


def _may_trigger_requests(client: ProbeClient) -> bool:
    """Whether there is anything to call that may make the server send requests."""
    return bool(client.callable_tools() or client.catalogue.prompts or client.catalogue.resources)


def _unknown_versions(frames: list[Frame]) -> dict[str, Family]:
    """The versions that opening responses name and that are not revisions, with their era."""
    found: dict[str, Family] = {}
    for exchange in exchanges_in(frames):
        if exchange.tag != OPENING:
            continue
        result, data = exchange.result or {}, (exchange.error or {}).get("data")
        lists = [result.get("supportedVersions")]
        lists += [data.get("supported")] if isinstance(data, dict) else []
        modern = [one for listed in lists if isinstance(listed, list) for one in listed]
        legacy = [result.get("protocolVersion")]
        for family, versions in ((Family.MODERN, modern), (Family.LEGACY, legacy)):
            for one in versions:
                if isinstance(one, str) and find_revision(one) is None and one.isascii():
                    found.setdefault(one, family)
    return found


def _is_redirect(frame: Frame) -> bool:
    return frame.status in (301, 302, 307, 308)


def _clients_in(results: list[Any]) -> list[ProbeClient]:
    return [client for client in results if isinstance(client, ProbeClient)]


def _is_accepted(client: ProbeClient) -> bool:
    result = client.opening.result if client.opening is not None else None
    if result is None or client.opening is None or client.opening.status == 401:
        # A result with status 401 does not accept the offer.
        return False
    if client.revision.family is Family.MODERN:
        return True
    return result.get("protocolVersion") == client.revision.date
