"""`python -m dovetail` runs the `dovetail` command."""

from __future__ import annotations

from dovetail.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
