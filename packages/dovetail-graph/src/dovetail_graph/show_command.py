"""Implementation of `dovetail graph show`."""

from __future__ import annotations

from pathlib import Path

from dovetail import UsageError
from dovetail_graph.command import check_namespace, default_file
from dovetail_graph.picture import make_picture

__all__ = ["write_page"]


def write_page(database: Path | None, output: Path | None, namespace: str, most: int) -> str:
    """Write the page and return a one-line summary."""
    path = (database or default_file()).expanduser().absolute()
    check_namespace(namespace)
    # The store would create a missing file and draw an empty graph.
    if not path.is_file():
        raise UsageError(f"There is no graph file {str(path)!r}; pass --db FILE")
    target = output or Path(f"{path.stem}.html")
    page, shown, total = make_picture(path, namespace, most)
    try:
        target.write_text(page, "utf-8")
    except OSError as error:
        raise UsageError(f"Cannot write {str(target)!r}: {error.strerror}") from None
    left = f" of {total:,} (the last changed)" if total > shown else ""
    return f"{target}: {shown:,} entities{left}"
