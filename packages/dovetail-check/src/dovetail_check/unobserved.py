"""Finds exchanges that show nothing about the server, so that no rule judges them.

A request may meet a server that limits its rate, or one that is gone: it died, or its host lost it.
The report has a crash for that. A process that dies once may have died for any reason, so the
probe runs again; only if the process dies again, the probe shows something. A probe that the
checker did not finish shows nothing either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from dovetail_check.exchanges import Exchange, is_busy
from dovetail_check.frames import Frame

__all__ = ["HARMLESS", "exchanges_in", "is_refused", "observed", "origin_of_frame"]

# Tags of requests that follow a probe; a crash after one is attributed to the probe.
HARMLESS = ("fence", "answer")

# Seconds by which responses in flight may differ when the server dies.
_SLACK = 1.0
# Messages of a flood that rules read; some rules compare all with all.
_MAX_FLOOD = 500


def observed(frames: Iterable[Frame]) -> list[Frame]:
    """Return the frames without those of exchanges that show nothing."""
    frames = list(frames)
    exchanges = exchanges_in(frames)
    hidden = {exchange.sent.n for exchange in exchanges if is_busy(exchange)}
    hidden |= _lost_over_http(frames, exchanges) | _lost_with_process(frames)
    stopped = {(frame.session, frame.tag) for frame in frames if frame.kind == "stopped"}
    hidden |= {
        frame.n
        for frame in frames
        if frame.kind == "sent" and (frame.session, frame.tag.partition("/")[0]) in stopped
    }
    hidden |= set(_flood(frames))
    return [frame for frame in frames if frame.n not in hidden and frame.of not in hidden]


def _flood(frames: list[Frame]) -> Iterator[int]:
    """All but the first messages of floods, of each request and of those that belong to none."""
    flooded = {(frame.session, frame.connection) for frame in frames if frame.kind == "flooded"}
    seen: Counter[tuple[str, str, int | None]] = Counter()
    for frame in frames:
        if (frame.session, frame.connection) not in flooded:
            continue
        if frame.kind in ("received", "event"):
            place = frame.session, frame.connection, frame.of
            seen[place] += 1
            if seen[place] > _MAX_FLOOD:
                yield frame.n


def exchanges_in(frames: Iterable[Frame]) -> list[Exchange]:
    """Group frames by the request that they belong to."""
    found: dict[int, Exchange] = {}
    for frame in frames:
        if frame.kind == "sent":
            found[frame.n] = Exchange(frame)
        elif frame.of is not None and frame.of in found:
            found[frame.of].replies.append(frame)
    return list(found.values())


def is_refused(frame: Frame) -> bool:
    """Whether the TCP connection for a request could not be opened."""
    return frame.kind == "failed" and (frame.text or "").startswith("no connection")


def origin_of_frame(url: str | None) -> str:
    """Scheme and host of a URL; empty if there is none."""
    parts = urlsplit(url or "")
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def _lost_over_http(frames: list[Frame], exchanges: list[Exchange]) -> set[int]:
    """Requests that the server refused to connect for, or that were in flight when it died."""
    origins = {origin_of_frame(frame.text) for frame in frames if frame.kind == "started"} - {""}
    mine = [exchange for exchange in exchanges if origin_of_frame(exchange.sent.url) in origins]
    refused = [frame for exchange in mine for frame in exchange.replies if is_refused(frame)]
    if not refused:
        return set()
    alive = [frame.at for frame in frames if frame.kind in ("received", "event")]
    # From the last sign of life before a refusal to the refusal.
    deaths = []
    for at in {frame.at for frame in refused}:
        before = max((seen for seen in alive if seen <= at), default=0.0)
        deaths.append((before - _SLACK, at))
    hidden = {frame.of for frame in refused if frame.of is not None}
    for exchange in mine:
        ends = [f.at for f in exchange.replies if f.kind in ("failed", "ended", "silence")]
        is_cut = (
            exchange.failure is not None
            or exchange.status is None
            or (exchange.is_stream and exchange.answer is None)
        )
        if is_cut and any(low <= end <= high for end in ends for low, high in deaths):
            hidden.add(exchange.sent.n)
    return hidden


def _lost_with_process(frames: list[Frame]) -> set[int]:
    """Requests of a probe whose process exited, unless it exited twice during that probe."""
    probes: dict[tuple[str, str], str] = {}
    # By place and probe: the requests so far, and for each exit those that it concerns.
    sent: dict[tuple[str, str, str], set[int]] = {}
    exits: dict[tuple[str, str, str], list[set[int]]] = {}
    expected: set[tuple[str, str]] = set()
    for frame in frames:
        place = frame.session, frame.connection
        if frame.kind == "sent" and frame.tag not in HARMLESS:
            probes[place] = frame.tag.partition("/")[0]
        key = (*place, probes.get(place, ""))
        if frame.kind == "started":
            expected.discard(place)
            sent[key] = set()
        elif frame.kind in ("closed", "stopped", "flooded") and frame.of is None:
            expected.add(place)
        elif (frame.kind == "sent" and frame.url is None) or (
            # Over stdio, messages that belong to no request may belong to the probe.
            frame.kind == "received" and frame.of is None
        ):
            sent.setdefault(key, set()).add(frame.n)
        elif frame.kind == "ended" and frame.of is None and place not in expected:
            # The set grows: requests to a process that is gone show nothing either.
            exits.setdefault(key, []).append(sent.setdefault(key, set()))
    return {number for found in exits.values() if len(found) == 1 for number in found[0]}
