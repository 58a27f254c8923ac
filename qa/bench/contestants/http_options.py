"""The keywords with which a contestant's HTTP application is made: one way of several."""

from __future__ import annotations

import json
import os
from typing import Any

__all__ = ["http_options"]


def http_options() -> dict[str, Any]:
    """What the benchmark asks of this process."""
    options: dict[str, Any] = json.loads(os.environ.get("BENCH_HTTP_OPTIONS", "{}"))
    return options
