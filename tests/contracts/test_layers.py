"""Imports point one way: each room sees only the rooms its row names.

A room is a folder or a top-level module of the package. Imports inside functions and
under TYPE_CHECKING count as well: a type tied in both directions is a knot like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

from tests.contracts.source_tree import (
    PACKAGE,
    Import,
    Kind,
    Module,
    assert_none,
    find_doors,
    is_within,
    load_package,
    write_package,
)
from tools.public_api import PUBLIC_MODULES

_PROTOCOL = ("errors", "wire", "spec")
_ENGINE = (*_PROTOCOL, "core", "features", "eras", "runtime", "stores")
_SERVER = (*_ENGINE, "server")
_CHANNELS = ("transports", "client", "guard")

# Room -> the rooms it may import from. A dotted entry opens one module of a room, not all of it.
# Rooms of the same rank (transports, client, guard) do not see each other.
SIGHT: dict[str, tuple[str, ...]] = {
    "errors": (),
    "wire": ("errors",),
    "spec": ("errors", "wire.codec"),
    "core": _PROTOCOL,
    "features": (*_PROTOCOL, "core"),
    "eras": (*_PROTOCOL, "core", "features"),
    # The event loop's side: worker threads, deadlines, tasks, one client's calls in flight.
    "runtime": (*_PROTOCOL, "core", "features", "eras", "stores"),
    # An interface and its embedded default; they keep bytes and know no protocol.
    "stores": ("errors",),
    "server": _ENGINE,
    "transports": _SERVER,
    "client": _SERVER,
    "guard": _SERVER,
    # A black box that must be able to judge anybody's server.
    "check": _PROTOCOL,
    "testing": (*_SERVER, *_CHANNELS),
    "cli": (*_SERVER, *_CHANNELS, "check"),
    "__main__": ("cli",),
    # The package itself: the public names and nothing else.
    "dovetail": (*_SERVER, *_CHANNELS),
    # Ready servers use what any user may use.
    "servers": tuple(name.removeprefix("dovetail.") for name in PUBLIC_MODULES),
}

# Folders that do not know each other although they share a room.
STRANGERS = (("dovetail.eras.legacy", "dovetail.eras.modern"),)

# The only module that may import both of a pair of strangers.
SELECTOR = "dovetail.eras.select"

# (importer, target) -> why this import for type checkers only may point the wrong way.
TYPING_EXCEPTIONS: dict[tuple[str, str], str] = {}

# (importer, target) -> why this import, inside a function or for type checkers, may point up.
DELEGATES: dict[tuple[str, str], str] = {
    ("dovetail.server", "dovetail.transports.streamable_http.app"): (
        "the one convenience on the author's face; the HTTP app knows the engine, not the "
        "server, so no cycle follows"
    ),
}


def find_violations(modules: Mapping[str, Module]) -> Iterator[str]:
    """Every import that its room's row does not allow, and every room without a row."""
    for module in modules.values():
        if module.room not in SIGHT:
            yield f"{module.at(1)}: room {module.room!r} has no row in SIGHT"
    for door, target in find_doors(modules):
        importer = door.importer
        if door.kind is Kind.TYPING and (importer.name, target.name) in TYPING_EXCEPTIONS:
            continue
        if is_delegate(door, target):
            continue
        if importer.room in SIGHT and not is_visible(importer, target):
            allowed = ", ".join(SIGHT[importer.room]) or "nothing"
            yield f"{door}, but {importer.room} sees only {allowed}"
        if any(are_strangers(importer.name, target.name, pair) for pair in STRANGERS):
            yield f"{door}, but these two do not know each other"
    yield from find_matchmakers(modules)


def is_delegate(door: Import, target: Module) -> bool:
    """Whether the table allows this import, which must not run when its module is loaded."""
    return door.kind is not Kind.RUNTIME and (door.importer.name, target.name) in DELEGATES


def find_matchmakers(modules: Mapping[str, Module]) -> Iterator[str]:
    """Modules other than the selector that import both of a pair of strangers."""
    seen: dict[str, set[str]] = {}
    for door, target in find_doors(modules):
        seen.setdefault(door.importer.name, set()).add(target.name)
    for name, targets in seen.items():
        for pair in STRANGERS:
            imports_both = all(any(is_within(t, [side]) for t in targets) for side in pair)
            if imports_both and name != SELECTOR and not is_within(name, pair):
                yield f"{modules[name].at(1)}: {name} imports both eras, but only {SELECTOR} may"


def is_visible(importer: Module, target: Module) -> bool:
    if importer.room == target.room:
        return True
    places = [
        place if place == "dovetail" else f"dovetail.{place}" for place in SIGHT[importer.room]
    ]
    if target.name == "dovetail":
        return "dovetail" in places
    return is_within(target.name, [place for place in places if place != "dovetail"])


def are_strangers(importer: str, target: str, pair: tuple[str, str]) -> bool:
    one, other = pair
    return (is_within(importer, [one]) and is_within(target, [other])) or (
        is_within(importer, [other]) and is_within(target, [one])
    )


def test_every_import_points_to_a_room_that_may_be_seen() -> None:
    assert_none(find_violations(load_package(PACKAGE)))


def test_every_delegate_is_in_use_and_has_a_reason() -> None:
    used = {
        (d.importer.name, t.name) for d, t in find_doors(load_package(PACKAGE)) if is_delegate(d, t)
    }
    assert used == DELEGATES.keys()
    assert all(DELEGATES.values())


def test_what_a_delegate_names_knows_nothing_of_who_calls_it() -> None:
    modules = load_package(PACKAGE)
    known = {(door.importer.name, target.name) for door, target in find_doors(modules)}
    for caller, delegate in DELEGATES:
        package = delegate.rpartition(".")[0]
        assert not [a for a, b in known if is_within(a, [package]) and b == caller]


def test_a_delegate_is_lazy_and_for_its_importer_alone(tmp_path: Path) -> None:
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
    assert [line.partition(", but")[0].partition(": ")[2] for line in find_violations(modules)] == [
        "dovetail.core.other imports dovetail.transports.streamable_http.app (lazy)"
    ]
    for wrong in (app, "def run():\n    from dovetail.transports import stdio\n"):
        [caught] = find_violations(
            write_package(tmp_path, {"server.py": wrong, "core/other.py": ""})
        )
        assert "dovetail.server imports dovetail.transports." in caught


def test_the_table_itself_has_a_direction() -> None:
    rows = {room: [place.partition(".")[0] for place in sees] for room, sees in SIGHT.items()}
    assert {place for sees in rows.values() for place in sees} <= rows.keys()
    assert list(TopologicalSorter(rows).static_order())


def test_an_upward_import_is_caught_in_every_disguise(tmp_path: Path) -> None:
    modules = write_package(
        tmp_path,
        {
            "server.py": "",
            "wire/codec.py": "import dovetail.spec.keys\n",
            "spec/keys.py": "from dovetail.wire import codec\nfrom dovetail.wire import framing\n",
            "wire/framing.py": "from ..server import Server\n",
            "core/lazy.py": "def run():\n    from dovetail import server\n",
            "core/typed.py": "if TYPE_CHECKING:\n    from dovetail.server import Server\n",
            "core/dynamic.py": "import importlib\nimportlib.import_module('dovetail.server')\n",
            "check/rules.py": "from dovetail.core.lazy import run\n",
            "core/fine.py": "import json\nfrom dovetail.wire.codec import decode\n",
        },
    )
    caught = [line.partition(", but")[0].partition(": ")[2] for line in find_violations(modules)]
    assert sorted(caught) == [
        "dovetail_check.rules imports dovetail.core.lazy.run",
        "dovetail.core.dynamic imports dovetail.server",
        "dovetail.core.lazy imports dovetail.server (lazy)",
        "dovetail.core.typed imports dovetail.server.Server (typing)",
        "dovetail.spec.keys imports dovetail.wire.framing",
        "dovetail.wire.codec imports dovetail.spec.keys",
        "dovetail.wire.framing imports dovetail.server.Server",
    ]


def test_only_the_selector_knows_both_eras(tmp_path: Path) -> None:
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
    caught = [line.partition(": ")[2] for line in find_violations(modules)]
    assert caught == [
        "dovetail.eras.legacy.ping imports dovetail.eras.modern.discover, "
        "but these two do not know each other",
        "dovetail.eras.other imports both eras, but only dovetail.eras.select may",
        "dovetail.server imports both eras, but only dovetail.eras.select may",
    ]


def test_a_ready_server_uses_the_public_api_only(tmp_path: Path) -> None:
    modules = write_package(
        tmp_path,
        {
            "__init__.py": "from dovetail.server import Server\n",
            "server.py": "",
            "transports/__init__.py": "",
            "servers/vault/good.py": (
                "from dovetail import Server, transports\nfrom dovetail_vault import bad\n"
            ),
            "servers/vault/bad.py": "from dovetail.server import Server\n",
            "core/inward.py": "from dovetail import Server\n",
        },
    )
    caught = [line.partition(", but")[0].partition(": ")[2] for line in find_violations(modules)]
    assert sorted(caught) == [
        "dovetail.core.inward imports dovetail.Server",
        "dovetail_vault.bad imports dovetail.server.Server",
    ]


def test_a_room_without_a_row_is_caught(tmp_path: Path) -> None:
    modules = write_package(tmp_path, {"attic/box.py": ""})
    assert [line.partition(": ")[2] for line in find_violations(modules)] == [
        "room 'attic' has no row in SIGHT"
    ]
