"""`check_upstreams`: what each upstream offers, and what in the settings does not fit to it."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from dovetail import Tool
from dovetail.client import Client
from dovetail.errors import DovetailError, UsageError
from dovetail.mount.names import BY_NAME, KINDS, Prefix
from dovetail.mount.view import View, check_arguments
from dovetail_gateway.config import GatewayConfig, UpstreamEntry

__all__ = ["UpstreamReport", "check_upstreams"]


@dataclass(slots=True, kw_only=True)
class UpstreamReport:
    """What one upstream offers; the counts are those that callers of the gateway see."""

    name: str
    prefix: str
    answers: bool = False
    revision: str | None = None
    tools: int = 0
    prompts: int = 0
    resources: int = 0
    problems: list[str] = field(default_factory=list)


async def check_upstreams(config: GatewayConfig) -> list[UpstreamReport]:
    """Connect to all upstreams and return what was found, in the order of the file."""
    return await asyncio.gather(*(_check(config, name) for name in config.upstreams))


async def _check(config: GatewayConfig, name: str) -> UpstreamReport:
    entry = config.upstreams[name]
    report = UpstreamReport(name=name, prefix=config.prefix_of(name))
    try:
        async with (
            asyncio.timeout(entry.connect_timeout),
            Client(timeout=entry.connect_timeout, **entry.connect_options()) as client,
        ):
            report.answers, report.revision = True, client.revision
            await _compare(client, entry, report)
    except TimeoutError as error:
        text = str(error) or f"no answer within {entry.connect_timeout:g} s"
        report.problems.append(text)
    except DovetailError as error:
        report.problems.append(str(error))
    return report


async def _compare(client: Client, entry: UpstreamEntry, report: UpstreamReport) -> None:
    view = View(Prefix(report.prefix), entry.include, entry.exclude, entry.tools)
    tools = await client.list_tools()
    found = {
        "tool": [tool.name for tool in tools],
        "prompt": [prompt.name for prompt in await client.list_prompts()],
        "resource": [resource.uri for resource in await client.list_resources()],
        "resource template": [each.uri_template for each in await client.list_templates()],
    }
    shown = {
        kind.name: [name for name in found[kind.name] if view.to_outer(kind, name) is not None]
        for kind in KINDS
    }
    report.tools, report.prompts = len(shown["tool"]), len(shown["prompt"])
    report.resources = len(shown["resource"]) + len(shown["resource template"])
    names = [name for each in found.values() for name in each]
    for key in ("include", "exclude"):
        for pattern in getattr(entry, key) or ():
            if not any(fnmatchcase(name, pattern) for name in names):
                report.problems.append(f"{key}: nothing has a name like {pattern!r}")
    report.problems += _find_tool_problems(tools, entry)


def _find_tool_problems(tools: list[Tool], entry: UpstreamEntry) -> Iterator[str]:
    known = {tool.name: tool for tool in tools}
    for name, transform in entry.tools.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            guess = f"; did you mean {close[0]!r}?" if close else ""
            yield f"tools.{name}: the upstream has no tool of this name{guess}"
            continue
        try:
            check_arguments(name, known[name].input_schema, transform)
        except UsageError as error:
            yield f"tools.{name}: {error}"
        taken = transform.name
        if taken in known and taken != name and not _moves(entry, str(taken)):
            yield (
                f"tools.{name}.name: the upstream has another tool {taken!r}, which nobody could "
                "call; rename or hide it, or choose another name"
            )


def _moves(entry: UpstreamEntry, name: str) -> bool:
    """Whether a tool gives its name to another one on purpose."""
    transform = entry.tools.get(name)
    if transform is not None and (transform.hidden or transform.name not in (None, name)):
        return True
    shown = View(Prefix("x"), entry.include, entry.exclude)
    return shown.to_outer(BY_NAME["tool"], name) is None
