"""`Identity`: name, version, instructions and capabilities of the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dovetail.core.link import ALL_CHANNELS, ClientChannels
from dovetail.spec.keys import TASKS
from dovetail.spec.models import Implementation
from dovetail.spec.revisions import Revision

__all__ = ["Identity"]

# Members of capabilities that announce notifications of changes.
_CHANGES = ("listChanged", "subscribe")


class Identity(NamedTuple):
    """Name, version and instructions; capabilities are computed from the handlers.

    `extensions` returns the settings of the extensions for a revision, by name.
    """

    implementation: Implementation
    instructions: str | None
    capabilities: Callable[[], dict[str, Any]]
    extensions: Callable[[Revision], dict[str, Any]]

    def capabilities_at(
        self,
        revision: Revision,
        channels: ClientChannels = ALL_CHANNELS,
        *,
        owner: str | None = None,
    ) -> dict[str, Any]:
        """Return the capabilities for one revision and for the channels to one client.

        lifecycle.capability.truthful (2025-11-25 basic/lifecycle): notifications that cannot
        reach this client are not announced.
        """
        capabilities = dict(self.capabilities())
        if not channels.changes:
            for name, members in capabilities.items():
                others = {key: value for key, value in members.items() if key not in _CHANGES}
                capabilities[name] = others
        if not channels.messages:
            capabilities.pop("logging", None)
        if not revision.completions_capability:
            capabilities.pop("completions", None)
        # tasks.capability, xtasks.result-removed: an extension is not announced as a capability
        tasks = capabilities.pop("tasks", None)
        if tasks is not None and revision.tasks:
            # tasks.list-not-anonymous (2025-11-25 basic/utilities/tasks)
            capabilities["tasks"] = tasks if owner is None else {"list": {}, **tasks}
        extensions = self.extensions(revision)
        if revision.extensions and tasks is not None:
            extensions[TASKS] = {}
        if extensions:
            # Before there were extensions, what is not in the protocol was experimental.
            member = "extensions" if revision.extensions else "experimental"
            capabilities[member] = extensions
        return capabilities
