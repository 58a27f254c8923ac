"""`python -m tests.patient run ...`: the `dovetail` command with time for an orderly shutdown.

A process of ours exits by force soon after its grace period. On a busy machine that would be
before it has answered its last calls.
"""

from __future__ import annotations

from dovetail.cli import exit_deadline, main
from tests.patience import CAP

if __name__ == "__main__":
    exit_deadline._EXTRA_SECONDS = CAP
    raise SystemExit(main())
