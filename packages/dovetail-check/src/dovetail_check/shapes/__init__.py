"""The shapes that messages of a server have on the wire, revision by revision, as data.

    shapes.problems(tool, "Tool", revision)            ["inputSchema: missing"]
    shapes.result_problems(result, "tools/list", ...)  ["tools[0].inputSchema: missing"]
    shapes.message_problems(message, "ping", ...)      whatever is wrong with a whole message

Each page of tables names the members that the schema of a revision knows. Members that it does
not know are no problem: everything is open. Nor are formats (URIs, base64): those are clauses
of their own.
"""

from __future__ import annotations

from dovetail_check.shapes.messages import (
    envelope_problems,
    message_problems,
    problems,
    result_problems,
)

__all__ = ["envelope_problems", "message_problems", "problems", "result_problems"]
