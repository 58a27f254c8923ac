"""What is on a design and what looks wrong: overlaps, overflow, contrast and the like."""

from dovetail.servers.design.findings.describing import Description, describe
from dovetail.servers.design.findings.finding import CODES, Code, Finding
from dovetail.servers.design.findings.measuring import DrawingContext
from dovetail.servers.design.findings.outline import Detail

__all__ = ["CODES", "Code", "Description", "Detail", "DrawingContext", "Finding", "describe"]
