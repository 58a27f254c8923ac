"""`python -m tests.patient run ...`: the `dovetail` command with time for an orderly shutdown.

A process of ours exits by force soon after its grace period. On a busy machine that would be
before it has answered its last calls. Idle connections are kept as long as the grace period.
"""

from __future__ import annotations

from dovetail.cli import main, process
from dovetail.transports import http_server
from tests.patience import CAP

if __name__ == "__main__":
    process._EXTRA_SECONDS = CAP
    http_server._DRAIN_SECONDS = CAP
    raise SystemExit(main())
