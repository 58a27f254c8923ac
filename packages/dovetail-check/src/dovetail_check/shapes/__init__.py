"""Tables of the message shapes that a server sends, by revision.

    shapes.problems(tool, "Tool", revision)            ["inputSchema: missing"]
    shapes.result_problems(result, "tools/list", ...)  ["tools[0].inputSchema: missing"]
    shapes.message_problems(message, "ping", ...)      all problems of a whole message

The tables list the members that the schema of each revision defines. Unknown members are allowed.
Formats such as URIs and base64 are not checked here, because other clauses cover them.
"""

from __future__ import annotations

from dovetail_check.shapes.messages import (
    envelope_problems,
    message_problems,
    problems,
    result_problems,
)

__all__ = ["envelope_problems", "message_problems", "problems", "result_problems"]
