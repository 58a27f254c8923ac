"""Describes designs and finds problems: overlaps, overflow, low contrast and others."""

from dovetail_design.findings.describing import Description, describe
from dovetail_design.findings.finding import CODES, Code, Finding
from dovetail_design.findings.measuring import DrawingContext
from dovetail_design.findings.outline import Detail

__all__ = ["CODES", "Code", "Description", "Detail", "DrawingContext", "Finding", "describe"]
