"""Commands and servers that other packages add through entry points.

A package registers a click command in the group `dovetail.commands`, or a module with SUMMARY,
ARGUMENTS, OPTIONS and `build(**options)` in the group `dovetail.servers`. The packages of this
project are known by name, so that help can list them before they are installed. Help never fails:
a plugin that cannot be imported is listed with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import click

from dovetail.cli.failures import WRONG_USAGE, Failure

__all__ = ["COMMANDS", "SERVERS", "PluginError", "Plugins", "unavailable"]


class PluginError(Exception):
    """A plugin that is not installed or cannot be imported; the message says what to do."""


class Plugins:
    """The plugins of one entry point group."""

    def __init__(self, group: str, known: Mapping[str, str]) -> None:
        """`known` maps the names that this project defines to the package that has them."""
        self._group = group
        self._known = known
        self._found: dict[str, EntryPoint] | None = None

    @property
    def installed(self) -> dict[str, EntryPoint]:
        """The installed plugins by name."""
        if self._found is None:
            self._found = {found.name: found for found in _entry_points(self._group)}
        return self._found

    @property
    def names(self) -> list[str]:
        """All names: those of this project first, then those of other packages."""
        return [*self._known, *sorted(self.installed.keys() - self._known.keys())]

    def load(self, name: str) -> Any:
        """The object behind a name; raises PluginError."""
        found = self.installed.get(name)
        package = self._known.get(name)
        if found is None:
            raise PluginError(f"is not installed: pip install {package}")
        try:
            return found.load()
        except ModuleNotFoundError as error:
            package = package or (found.dist.name if found.dist is not None else name)
            raise PluginError(
                f"cannot be loaded, {error.name!r} is missing: pip install {package}"
            ) from error
        except Exception as error:  # help must not fail because of a plugin
            raise PluginError(f"cannot be loaded: {type(error).__name__}: {error}") from error


def _entry_points(group: str) -> Iterable[EntryPoint]:
    return entry_points(group=group)


def unavailable(name: str, reason: str) -> click.Command:
    """A placeholder command for a plugin that cannot be loaded; `reason` is a predicate."""

    def fail(**_given: Any) -> None:
        raise Failure(f"{name} {reason}", WRONG_USAGE)

    words = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED, metavar="...")
    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    help = f"({reason.removeprefix('is ')})"
    return click.Command(
        name, context_settings=settings, callback=fail, params=[words], help=help, short_help=help
    )


_CHECK = "dovetail-check"
COMMANDS = Plugins(
    "dovetail.commands",
    {
        "dev": "dovetail-console",
        "console": "dovetail-console",
        "gateway": "dovetail-gateway",
        "graph": "dovetail-graph",
        "openapi": "dovetail-openapi",
        **dict.fromkeys(("check", "report", "verify", "diff", "explain", "rules", "badge"), _CHECK),
    },
)
SERVERS = Plugins(
    "dovetail.servers",
    {name: f"dovetail-{name}" for name in ("vault", "graph", "browser", "design")},
)
