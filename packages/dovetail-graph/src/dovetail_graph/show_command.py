"""`dovetail graph show`: the options of the command line and the page they ask for."""

from __future__ import annotations

from pathlib import Path

from dovetail import UsageError
from dovetail_graph.command import check_namespace, default_file
from dovetail_graph.picture import make_picture

__all__ = ["write_page"]


def write_page(database: Path | None, output: Path | None, namespace: str, most: int) -> str:
    """Write the page; returns one line about it."""
    path = (database or default_file()).expanduser().absolute()
    check_namespace(namespace)
    # The store would make it; a picture of nothing is what nobody asked for.
    if not path.is_file():
        raise UsageError(f"There is no graph in {str(path)!r}; --db names another file")
    target = output or Path(f"{path.stem}.html")
    page, shown, total = make_picture(path, namespace, most)
    try:
        target.write_text(page, "utf-8")
    except OSError as error:
        raise UsageError(f"{str(target)!r} cannot be written: {error.strerror}") from None
    left = f" of {total:,}, those that changed last" if total > shown else ""
    return f"{target}: {shown:,} entities{left}"
