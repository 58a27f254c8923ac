"""Where the URL of the cluster comes from."""

from __future__ import annotations

import os

__all__ = ["CLUSTER", "find_cluster"]

# The environment variable with the URL.
CLUSTER = "DOVETAIL_CLUSTER"


def find_cluster(given: str | None) -> str | None:
    """Return the URL of the cluster; None without one.

    The environment takes precedence over `Options.cluster`: a server is written once and runs in
    several places.
    """
    return os.environ.get(CLUSTER) or given
