"""The templates that the server includes."""

from dovetail_design.library.templates.catalogue import find_template, list_templates
from dovetail_design.library.templates.template import Template

__all__ = ["Template", "find_template", "list_templates"]
