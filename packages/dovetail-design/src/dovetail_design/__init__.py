"""A design studio: canvases of typed elements, drawn, looked at and kept with every version.

`model` says what a design is, `rendering` draws it with the bundled `fonts`, `findings` look for
faults, `library` and `generating` bring templates, icons and layouts. `storage` says what a store
can do and `sqlite_*` is the one there is; the tools are on top.
"""

from dovetail_design.server import DesignOptions, build_server

__all__ = ["DesignOptions", "build_server"]
