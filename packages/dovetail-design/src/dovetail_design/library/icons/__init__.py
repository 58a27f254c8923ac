"""The embedded icons, and search."""

from dovetail_design.library.icons.catalogue import (
    LICENCE,
    VIEW_BOX,
    Icon,
    Weight,
    find_icon,
    load_icons,
)
from dovetail_design.library.icons.searching import search_icons

__all__ = ["LICENCE", "VIEW_BOX", "Icon", "Weight", "find_icon", "load_icons", "search_icons"]
