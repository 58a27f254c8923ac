"""server/resources."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

from dovetail.spec.revisions import Family
from dovetail_check.calls import valid_calls
from dovetail_check.completing import variables_of
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probes.undeclared import NO_SUCH_URI
from dovetail_check.probing import Order, probe

__all__: list[str] = []

MAX_READ = 6

_MALFORMED: dict[str, dict[str, Any]] = {
    "malformed/missing": {},
    "malformed/number": {"uri": 5},
    "malformed/empty": {"uri": ""},
    "malformed/no-scheme": {"uri": "dovetail check"},
    "malformed/long": {"uri": "dovetail-check-none://" + "x" * 10_000},
}

# A file that every Linux system has, without sensitive contents.
CANARY = "etc/os-release"
_UP = "../" * 12
_TRAVERSALS = {
    "dots": _UP + CANARY,
    "encoded-dots": _UP.replace("..", "%2e%2e") + CANARY,
    "encoded-slashes": (_UP + CANARY).replace("/", "%2f"),
}


@probe("read-resources", needs="resources")
async def read_resources(client: ProbeClient) -> None:
    """Read some of the listed resources."""
    await asyncio.gather(
        *(client.request("resources/read", {"uri": uri}) for uri in _uris(client)[:MAX_READ])
    )


@probe("resource-refusals", needs="resources")
async def read_unknown_resources(client: ProbeClient) -> None:
    """Reads that must fail.

    unknown/scheme: an unknown scheme. unknown/listed-scheme: a scheme of the list, if no template
    could match it. malformed/...: not a URI.
    """
    reads: dict[str, dict[str, Any]] = {"unknown/scheme": {"uri": NO_SUCH_URI}, **_MALFORMED}
    schemes = {urlsplit(uri).scheme for uri in _uris(client) if "://" in uri}
    templated = {template.partition(":")[0] for template in _templates(client)}
    for scheme in sorted(schemes - templated)[:1]:
        if not any("{" in name for name in templated):
            name = f"{scheme}://dovetail-check/no/such/resource"
            reads["unknown/listed-scheme"] = {"uri": name}
    await asyncio.gather(
        *(client.request("resources/read", params, variant=name) for name, params in reads.items())
    )


@probe("traversal", needs="resources", era=Family.MODERN, order=Order.ROUGH)
async def try_path_traversal(client: ProbeClient) -> None:
    """Only if the server has file: resources.

    direct: a harmless system file by its own URI. dots, encoded-dots, encoded-slashes: the same
    file by path traversal from the served folder.
    """
    folders = _folders(client)
    # On a foreign machine it would look like an attack.
    if not folders or client.context.policy.calls == "none":
        return
    reads = {"direct": f"file:///{CANARY}"}
    reads |= {name: folders[0] + traversal for name, traversal in _TRAVERSALS.items()}
    await asyncio.gather(
        *(
            client.request("resources/read", {"uri": uri}, variant=name)
            for name, uri in reads.items()
        )
    )


@probe("subscribe", needs="resources.subscribe", era=Family.LEGACY)
async def subscribe_and_unsubscribe(client: ProbeClient) -> None:
    """subscribe, unsubscribe: for a listed resource. subscribed, unsubscribed: tool calls after
    each, which may change something."""
    calls = valid_calls(client)
    for uri in _uris(client)[:1]:
        for action in ("subscribe", "unsubscribe"):
            await client.request(f"resources/{action}", {"uri": uri}, variant=action)
            await asyncio.gather(
                *(client.request("tools/call", call, variant=f"{action}d") for call in calls)
            )
        await client.fence()


def _uris(client: ProbeClient) -> list[str]:
    found = [item.get("uri") for item in client.catalogue.resources]
    return [uri for uri in found if isinstance(uri, str)]


def _templates(client: ProbeClient) -> list[str]:
    found = [item.get("uriTemplate") for item in client.catalogue.resource_templates]
    return [template for template in found if isinstance(template, str)]


def _folders(client: ProbeClient) -> list[str]:
    """The fixed prefixes of file: URIs."""
    templated = [
        template.partition("{")[0]
        for template in _templates(client)
        if template.startswith("file:") and variables_of(template)
    ]
    listed = [uri.rpartition("/")[0] + "/" for uri in _uris(client) if uri.startswith("file:")]
    return templated + listed
