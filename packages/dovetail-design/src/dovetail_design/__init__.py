"""A design server: canvases of typed elements, rendered, checked and stored with all versions.

`model` defines designs, `rendering` draws them with the bundled `fonts`, `findings` reports
problems, `library` and `generating` provide templates, icons and layouts. `storage` defines the
store and `sqlite_*` implements it. The tools are built on these.
"""

from dovetail_design.server import DesignOptions, build_server

__all__ = ["DesignOptions", "build_server"]
