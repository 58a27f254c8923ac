"""The templates that the studio ships with."""

from dovetail_design.library.templates.catalogue import (
    CATEGORIES,
    TEMPLATES,
    find_template,
    list_templates,
    search_templates,
)
from dovetail_design.library.templates.template import Template

__all__ = [
    "CATEGORIES",
    "TEMPLATES",
    "Template",
    "find_template",
    "list_templates",
    "search_templates",
]
