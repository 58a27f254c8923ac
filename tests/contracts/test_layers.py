"""Imports point one way: each layer imports only from the layers its row allows.

A layer is a folder or a top-level module of `dovetail`; the other packages have one row each.
Imports inside functions and under TYPE_CHECKING count as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from tests.contracts.source_tree import (
    FRAMEWORK,
    Import,
    Kind,
    Module,
    assert_none,
    find_internal_imports,
    is_within,
    load_packages,
    write_package,
)
from tools.public_api import OUTER_MODULES, PUBLIC_MODULES

PUBLIC = {*PUBLIC_MODULES, *OUTER_MODULES}

_PROTOCOL = ("errors", "wire", "spec", "schema")
_RUNTIME = (*_PROTOCOL, "state", "core", "features", "eras", "runtime")
_SERVER = (*_RUNTIME, "extensions", "server")
_OUTER = ("transports", "client", "auth", "observability", "net", "oauth")

# Layer of `dovetail` -> the layers it may import from.
# Layers of the same rank (transports, client, auth) do not import each other.
LAYERS: dict[str, tuple[str, ...]] = {
    "errors": (),
    "wire": ("errors",),
    "spec": ("errors",),
    # Reads JSON Schemas of others. It imports nothing, because the checker uses it as well.
    "schema": (),
    # Only the type of `Options.state`.
    "core": (*_PROTOCOL, "state"),
    # HTTP requests of clients, and what they may connect to.
    "net": ("errors",),
    # What OAuth clients and resource servers share.
    "oauth": (*_PROTOCOL, "core", "net"),
    "features": (*_PROTOCOL, "core"),
    "eras": (*_PROTOCOL, "core", "features"),
    # What an extension of the protocol is.
    "extensions": (*_PROTOCOL, "core", "features"),
    # Backends for shared and durable state; they hold bytes and know no protocol.
    "state": ("errors",),
    # Interfaces and their default implementations; they hold bytes and know no protocol.
    # The asyncio part: worker threads, deadlines, tasks, the calls in flight of one client.
    # Of `net`, the pauses between attempts.
    "runtime": (*_PROTOCOL, "state", "core", "features", "eras", "net"),
    "server": (*_RUNTIME, "extensions"),
    "transports": (*_SERVER, "net"),
    "client": (*_SERVER, "net", "oauth"),
    # Calls whose result the client fetches later: the server's half and the client's.
    "tasks": (*_RUNTIME, "extensions", "client", "net"),
    # The audit log, metrics and traces; a guard puts them into its chain.
    "observability": _SERVER,
    "auth": (*_SERVER, "net", "oauth", "observability"),
    # Ready-made middleware, retries and circuit breakers; redaction is that of the audit log.
    "middleware": (*_SERVER, "net", "observability"),
    # What modules of `dovetail generate client` import.
    "generated": ("errors", "client"),
    # Servers inside a server.
    "mount": (*_RUNTIME, "tasks"),
    "testing": (*_SERVER, *_OUTER),
    "cli": (*_SERVER, *_OUTER, "tasks"),
    # The public facade over cli, for packages that add commands.
    "commands": ("cli",),
    "__main__": ("cli",),
    # The package itself: the public names and nothing else.
    "dovetail": (*_SERVER, *_OUTER),
}

# What the gateway still imports besides public names; the list only becomes shorter.
_GATEWAY_INTERNALS = (
    *(f"dovetail.{layer}" for layer in ("wire", "spec", "core", "features", "eras", "runtime")),
    *("dovetail.net", "dovetail.tasks", "dovetail.cli"),
    *("dovetail.client.*", "dovetail.mount.*"),
)

# Package -> what it may import of other packages: of a public module the names in its `__all__`,
# of any other place everything. `*` stands for the modules below a public one, which are private.
PACKAGES: dict[str, tuple[str, ...]] = {
    # The checker tests any server from outside, so it uses nothing of the server side.
    # `schema` reads schemas of others and imports nothing.
    "dovetail_check": (*(f"dovetail.{layer}" for layer in _PROTOCOL), "dovetail.commands"),
    "dovetail_pytest": ("dovetail_check",),
    # Parts of the framework that are installed on demand, and ready servers, use what any user may.
    "dovetail_gateway": (*PUBLIC_MODULES, *_GATEWAY_INTERNALS),
    "dovetail_openapi": PUBLIC_MODULES,
    "dovetail_redis": PUBLIC_MODULES,
    # It reads and shows messages of others, as the checker does.
    "dovetail_console": (
        *(f"dovetail.{layer}" for layer in _PROTOCOL),
        *PUBLIC_MODULES,
        "dovetail_gateway",
    ),
    "dovetail_serverkit": PUBLIC_MODULES,
    "dovetail_vault": (*PUBLIC_MODULES, "dovetail_serverkit"),
    "dovetail_browser": (*PUBLIC_MODULES, "dovetail_serverkit"),
    "dovetail_graph": (*PUBLIC_MODULES, "dovetail_serverkit"),
    "dovetail_design": (*PUBLIC_MODULES, "dovetail_serverkit"),
}

# The eras do not import each other, and only the selector imports both.
ERAS = ("dovetail.eras.legacy", "dovetail.eras.modern")
SELECTOR = "dovetail.eras.select"

# (importer, target) -> why this import, in a function or for type checkers only, may point up.
DELEGATES: dict[tuple[str, str], str] = {
    ("dovetail.server", "dovetail.cli.run_stdio"): (
        "`server.run()`: the program becomes the one that `dovetail run` is"
    ),
    ("dovetail.server", "dovetail.transports.streamable_http.app"): (
        "`server.http_app()`; the HTTP app imports the engine, not the server, so there is no cycle"
    ),
    ("dovetail.server", "dovetail_console.app"): (
        "`server.http_app(console=True)`; raises MissingPackageError if it is not installed"
    ),
    ("dovetail.cli.run_http", "dovetail_console.app"): "`dovetail run --console`; the same",
    ("dovetail.cli.run_http", "dovetail_console.watching"): "`dovetail run --watch`; the same",
    ("dovetail.server", "dovetail.tasks.keeper"): "tools with `task=`",
    ("dovetail.server", "dovetail.tasks.tools"): "the same",
    ("dovetail.client.client", "dovetail.tasks.client"): "`client.start()` and `client.task()`",
    ("dovetail.client", "dovetail.tasks.client"): "the types that they return",
    ("dovetail.server", "dovetail.mount.mounts"): (
        "`server.mount()`; mounts know a protocol for servers, not the class"
    ),
    ("dovetail.server", "dovetail.mount.copying"): "the same",
    ("dovetail.server", "dovetail.mount.names"): "the same",
    ("dovetail.server", "dovetail.mount.view"): "the same",
    ("dovetail.server", "dovetail_openapi.building"): (
        "`Server.from_openapi()`; raises MissingPackageError if the package is not installed"
    ),
    ("dovetail", "dovetail_gateway"): (
        "`from dovetail import Proxy, ToolSearch`; raises MissingPackageError likewise"
    ),
    ("dovetail.cli.run_http", "dovetail_openapi.rest"): "`dovetail run --rest`; the same",
}
# The command line loads servers from files, so it knows the class.
KNOWS_ITS_IMPORTER = {"dovetail.cli.run_stdio"}


def find_violations(modules: Mapping[str, Module]) -> Iterator[str]:
    """Every import that its row does not allow, and every layer or package without a row."""
    for module in modules.values():
        if find_row(module) is None:
            yield f"{module.at(1)}: no row for {module.name} in test_layers.py"
    for found, target in find_internal_imports(modules):
        importer = found.importer
        row = find_row(importer)
        if row is not None and not is_delegate(found, target) and not is_allowed(found, target):
            yield f"{found}, but it may import only {', '.join(row) or 'nothing'}"
        if is_across_eras(importer.name, target.name):
            yield f"{found}, but the eras do not import each other"
    yield from find_importers_of_both_eras(modules)


def find_row(module: Module) -> tuple[str, ...] | None:
    """The dotted names that a module may import from, besides its own layer or package."""
    if module.package != FRAMEWORK:
        return PACKAGES.get(module.package)
    row = LAYERS.get(module.layer)
    return None if row is None else tuple(f"{FRAMEWORK}.{layer}" for layer in row)


def is_allowed(found: Import, target: Module) -> bool:
    importer = found.importer
    row = find_row(importer) or ()
    if importer.package == target.package:
        if target.name == FRAMEWORK:
            return FRAMEWORK in row
        is_same = importer.package != FRAMEWORK or importer.layer == target.layer
        return is_same or is_within(target.name, [place for place in row if place != FRAMEWORK])
    if target.name in PUBLIC and target.name in row:
        name = found.target.removeprefix(f"{target.name}.")
        return found.target == target.name or name in read_exports(target)
    below = [place.removesuffix("*") for place in row if place.endswith("*")]
    whole = [place for place in row if place not in PUBLIC]
    return is_within(target.name, whole) or target.name.startswith(tuple(below))


@cache
def read_exports(module: Module) -> frozenset[str]:
    """The names in `__all__`."""
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return frozenset(ast.literal_eval(value))
    return frozenset()


def is_delegate(found: Import, target: Module) -> bool:
    """Whether DELEGATES allows this import, which must not run when its module is loaded."""
    return found.kind is not Kind.RUNTIME and (found.importer.name, target.name) in DELEGATES


def is_across_eras(importer: str, target: str) -> bool:
    one, other = ERAS
    return (is_within(importer, [one]) and is_within(target, [other])) or (
        is_within(importer, [other]) and is_within(target, [one])
    )


def find_importers_of_both_eras(modules: Mapping[str, Module]) -> Iterator[str]:
    targets: dict[str, set[str]] = {}
    for found, target in find_internal_imports(modules):
        targets.setdefault(found.importer.name, set()).add(target.name)
    for name, imported in targets.items():
        imports_both = all(any(is_within(target, [era]) for target in imported) for era in ERAS)
        if imports_both and name != SELECTOR and not is_within(name, ERAS):
            yield f"{modules[name].at(1)}: {name} imports both eras, but only {SELECTOR} may"


def list_caught(modules: Mapping[str, Module]) -> list[str]:
    """The violations without their places and without the rows."""
    return sorted(
        line.partition(", but it")[0].partition(": ")[2] for line in find_violations(modules)
    )


def test_every_import_is_allowed() -> None:
    assert_none(find_violations(load_packages()))


def test_every_delegate_is_in_use_and_has_a_reason() -> None:
    used = {
        (found.importer.name, target.name)
        for found, target in find_internal_imports(load_packages())
        if is_delegate(found, target)
    }
    assert used == DELEGATES.keys()
    assert all(DELEGATES.values())


def test_a_delegate_does_not_import_its_importer() -> None:
    edges = {
        (found.importer.name, target.name)
        for found, target in find_internal_imports(load_packages())
    }
    for importer, delegate in DELEGATES:
        if delegate in KNOWS_ITS_IMPORTER:
            continue
        folder = delegate.rpartition(".")[0]
        assert not [a for a, b in edges if is_within(a, [folder]) and b == importer]


def test_a_delegate_is_lazy_and_for_one_importer(tmp_path: Path) -> None:
    app = "from dovetail.transports.streamable_http import app\n"
    lazy = f"def run():\n    {app}"
    modules = write_package(
        tmp_path,
        {
            "transports/streamable_http/app.py": "",
            "transports/streamable_http/__init__.py": "",
            "transports/stdio.py": "",
            "server.py": f"{lazy}if TYPE_CHECKING:\n    {app}",
            "core/other.py": lazy,
        },
    )
    assert list_caught(modules) == [
        "dovetail.core.other imports dovetail.transports.streamable_http.app (lazy)"
    ]
    for wrong in (app, "def run():\n    from dovetail.transports import stdio\n"):
        [caught] = find_violations(
            write_package(tmp_path, {"server.py": wrong, "core/other.py": ""})
        )
        assert "dovetail.server imports dovetail.transports." in caught


def test_the_tables_have_a_direction() -> None:
    assert {layer for row in LAYERS.values() for layer in row} <= LAYERS.keys()
    packages = {name: {place.partition(".")[0] for place in row} for name, row in PACKAGES.items()}
    assert list(TopologicalSorter(LAYERS).static_order())
    assert list(TopologicalSorter(packages).static_order())


def test_an_upward_import_is_caught_in_every_form(tmp_path: Path) -> None:
    modules = write_package(
        tmp_path,
        {
            "server.py": "",
            "wire/codec.py": "import dovetail.spec.keys\n",
            "spec/keys.py": "from dovetail.wire import framing\n",
            "wire/framing.py": "from ..server import Server\n",
            "core/lazy.py": "def run():\n    from dovetail import server\n",
            "core/typed.py": "if TYPE_CHECKING:\n    from dovetail.server import Server\n",
            "core/dynamic.py": "import importlib\nimportlib.import_module('dovetail.server')\n",
            "core/fine.py": "import json\nfrom dovetail.wire.codec import decode\n",
        },
    )
    assert list_caught(modules) == [
        "dovetail.core.dynamic imports dovetail.server",
        "dovetail.core.lazy imports dovetail.server (lazy)",
        "dovetail.core.typed imports dovetail.server.Server (typing)",
        "dovetail.spec.keys imports dovetail.wire.framing",
        "dovetail.wire.codec imports dovetail.spec.keys",
        "dovetail.wire.framing imports dovetail.server.Server",
    ]


def test_only_the_selector_imports_both_eras(tmp_path: Path) -> None:
    one = "from dovetail.eras.legacy.ping import answer\n"
    both = f"{one}from dovetail.eras.modern import discover\n"
    modules = write_package(
        tmp_path,
        {
            "eras/legacy/ping.py": "from dovetail.eras.modern import discover\n",
            "eras/modern/discover.py": "",
            "eras/select.py": both,
            "eras/other.py": both,
            "server.py": both,
            "transports/legacy.py": one,
        },
    )
    assert list_caught(modules) == [
        "dovetail.eras.legacy.ping imports dovetail.eras.modern.discover, "
        "but the eras do not import each other",
        "dovetail.eras.other imports both eras, but only dovetail.eras.select may",
        "dovetail.server imports both eras, but only dovetail.eras.select may",
    ]


def test_other_packages_import_only_what_their_row_allows(tmp_path: Path) -> None:
    modules = {
        **write_package(
            tmp_path,
            {
                "__init__.py": "from dovetail.server import F, Server\n__all__ = ['Server']\n",
                "server.py": "",
                "commands.py": "",
                "transports/__init__.py": "",
                "transports/stdio.py": "",
                "core/call.py": "from dovetail import Server\n",
                "wire/codec.py": "",
            },
        ),
        **write_package(tmp_path, {"budget.py": ""}, "dovetail_serverkit"),
        **write_package(
            tmp_path,
            {
                "good.py": "from dovetail import Server, transports\nfrom dovetail_vault import bad"
                "\nfrom dovetail_serverkit.budget import x\nimport dovetail.commands\n",
                "bad.py": "from dovetail.server import Server\nfrom dovetail_check import rules\n"
                "from dovetail import F\nfrom dovetail.transports.stdio import run\n",
            },
            "dovetail_vault",
        ),
        **write_package(
            tmp_path,
            {
                "__init__.py": "",
                "rules.py": "import dovetail.wire.codec\nfrom dovetail import commands, Server\n",
                "probes.py": "from dovetail.core.call import Call\n",
            },
            "dovetail_check",
        ),
    }
    assert list_caught(modules) == [
        "dovetail.core.call imports dovetail.Server",
        "dovetail_check.probes imports dovetail.core.call.Call",
        "dovetail_check.rules imports dovetail.Server",
        "dovetail_vault.bad imports dovetail.F",
        "dovetail_vault.bad imports dovetail.server.Server",
        "dovetail_vault.bad imports dovetail.transports.stdio.run",
        "dovetail_vault.bad imports dovetail_check.rules",
    ]


def test_a_layer_or_package_without_a_row_is_caught(tmp_path: Path) -> None:
    modules = {
        **write_package(tmp_path, {"attic/box.py": ""}),
        **write_package(tmp_path, {"box.py": ""}, "dovetail_attic"),
    }
    assert list_caught(modules) == [
        "no row for dovetail.attic.box in test_layers.py",
        "no row for dovetail_attic.box in test_layers.py",
    ]
