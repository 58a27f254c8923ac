"""How to fix a violation: what to change, and an example of a correct message.

Requirements without an entry get a general text. Examples are JSON, or an HTTP header or status.
"""

from __future__ import annotations

from typing import NamedTuple

from dovetail_check.responsibility import AUTHOR

__all__ = ["FIXES", "Fix", "find_fix"]


class Fix(NamedTuple):
    """What to change, and an example if there is one."""

    text: str
    example: str = ""


_BY_AUTHOR = Fix("Change the server so that it meets this requirement; the clause has the details.")
_BY_SDK = Fix(
    "Update the SDK. If the newest version has the same problem, report it to its maintainers with "
    "the messages of this report."
)


def find_fix(id: str, fixed_by: str) -> Fix:
    """Return how to fix a violation of a requirement."""
    return FIXES.get(id) or (_BY_AUTHOR if fixed_by == AUTHOR else _BY_SDK)


# Id of the requirement -> how to fix a violation.
FIXES = {
    # -- messages and errors -------------------------------------------------------------------
    "base.jsonrpc.valid": Fix(
        'Send `"jsonrpc": "2.0"` in every message, and only the members that JSON-RPC defines.',
        '{"jsonrpc": "2.0", "id": 1, "result": {}}',
    ),
    "base.response.id-echo": Fix(
        "Copy the id of the request into the response without converting it: 1 stays a number and "
        '"1" stays a string.',
        '{"jsonrpc": "2.0", "id": "1", "result": {}}',
    ),
    "base.response.result-or-error": Fix(
        "Send either `result` or `error`, never both and never null for the other one.",
        '{"jsonrpc": "2.0", "id": 1, "result": {}}',
    ),
    "base.error.shape": Fix(
        "Give every error an integer `code` and a string `message`.",
        '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Unknown tool: ad"}}',
    ),
    "base.error.code-integer": Fix(
        "Send the error code as an integer, not as a string.",
        '{"code": -32603, "message": "Internal error"}',
    ),
    "base.error.method-not-found": Fix(
        "Respond to an unknown method with the error -32601.",
        '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}',
    ),
    "base.error.parse-error": Fix(
        "Catch the error of the JSON parser, respond with -32700, and read the next message. Until "
        '2025-06-18 the response also has `"id": null`.',
        '{"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}}',
    ),
    "base.error.invalid-request": Fix(
        "Check `jsonrpc`, `method` and `id` before you dispatch. Respond with -32600 if `jsonrpc` "
        'is not "2.0" or `method` is not a string.',
        '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "Invalid request"}}',
    ),
    "base.error.invalid-params": Fix(
        "Validate `params` before you run the request. Respond with -32602 if a required member is "
        "missing or has the wrong type.",
        '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Missing name"}}',
    ),
    "base.notification.no-reply": Fix(
        "Do not respond to messages without an `id`, not even with an error."
    ),
    "base.meta.reserved-prefix": Fix(
        "Use your own reverse-DNS prefix for `_meta` keys instead of one that is reserved for MCP.",
        '{"_meta": {"com.example/trace": "1a2b"}}',
    ),
    "base.jsonschema.valid": Fix(
        "Validate your schemas with a JSON Schema 2020-12 validator, or name their dialect in "
        "`$schema`."
    ),
    "base.icons.src": Fix(
        "Give each icon a `src` with an http, https or data URI.",
        '{"icons": [{"src": "https://example.com/icon.png", "mimeType": "image/png"}]}',
    ),
    "base.errcode.own-codes-outside": Fix(
        "Use codes outside -32768 to -32000 for your own errors.",
        '{"code": 1001, "message": "Out of paper"}',
    ),
    # -- lifecycle and versions ----------------------------------------------------------------
    "lifecycle.init.result": Fix(
        "Respond to `initialize` with protocolVersion, capabilities and serverInfo.",
        '{"protocolVersion": "2025-11-25", "capabilities": {}, '
        '"serverInfo": {"name": "shop", "version": "1.0"}}',
    ),
    "lifecycle.init.serverinfo-fields": Fix(
        "Set both the name and the version of your server.",
        '{"serverInfo": {"name": "shop", "version": "1.0"}}',
    ),
    "lifecycle.version.counter-offer": Fix(
        "Keep a list of the versions that you support. If the client offers another one, respond "
        "with your newest version instead of repeating the offer.",
        '{"protocolVersion": "2025-11-25", "capabilities": {}, '
        '"serverInfo": {"name": "shop", "version": "1.0"}}',
    ),
    "lifecycle.version.echo": Fix(
        "If you support the offered version, respond with the same version."
    ),
    "lifecycle.operation.version": Fix(
        "Send only members and types that the negotiated version has; the finding names the member."
    ),
    "lifecycle.capability.truthful": Fix(
        "Declare a capability exactly if its methods work. Remove it if they return -32601.",
        '{"capabilities": {"tools": {}}}',
    ),
    "lifecycle.shutdown.stdin-eof": Fix(
        "Exit when reading from stdin returns the end of the file."
    ),
    "versioning.unsupported-32022": Fix(
        "Respond to an unsupported version with -32022 and the versions that you support.",
        '{"code": -32022, "message": "Unsupported protocol version", '
        '"data": {"supported": ["2026-07-28"], "requested": "2099-01-01"}}',
    ),
    "batch.receive": Fix(
        "At 2025-03-26, accept an array of messages and respond with an array of responses.",
        '[{"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": 2, "result": {}}]',
    ),
    "ping.empty-result": Fix(
        "Return an empty object from `ping`.", '{"jsonrpc": "2.0", "id": 1, "result": {}}'
    ),
    # -- transports ----------------------------------------------------------------------------
    "stdio.stdout-pure": Fix(
        "Write only messages to stdout. Send logs and the output of `print` to stderr."
    ),
    "stdio.no-embedded-newline": Fix(
        "Write each message on one line: serialize JSON without indentation."
    ),
    "stdio.utf8": Fix("Encode stdout as UTF-8, whatever the locale of the machine is."),
    "http.origin.validate": Fix(
        "Check the `Origin` header of every request against a list of allowed origins.",
        "HTTP/1.1 403 Forbidden",
    ),
    "http.origin.403": Fix(
        "Respond with 403 if the `Origin` header is present and not allowed.",
        "HTTP/1.1 403 Forbidden",
    ),
    "http.bind-localhost": Fix(
        "Listen on 127.0.0.1 instead of 0.0.0.0 if only local clients use the server."
    ),
    "http.post.notification-202": Fix(
        "Respond to an accepted notification with 202 and an empty body.", "HTTP/1.1 202 Accepted"
    ),
    "http.post.notification-empty": Fix(
        "Send no body with the 202 response.", "HTTP/1.1 202 Accepted"
    ),
    "http.post.content-type": Fix(
        "Respond to a request with application/json or text/event-stream.",
        "Content-Type: application/json",
    ),
    "http.get.sse-or-405": Fix(
        "Respond to GET with an event stream, or with 405 if you offer none.",
        "HTTP/1.1 405 Method Not Allowed",
    ),
    "http.session.missing-400": Fix(
        "Respond with 400 to a request that needs a session but has no `Mcp-Session-Id` header.",
        "HTTP/1.1 400 Bad Request",
    ),
    "http.session.ended-404": Fix(
        "Respond with 404 if the session in `Mcp-Session-Id` does not exist any more.",
        "HTTP/1.1 404 Not Found",
    ),
    "http.version-header.invalid-400": Fix(
        "Respond with 400 if `MCP-Protocol-Version` names a version that you do not support.",
        "HTTP/1.1 400 Bad Request",
    ),
    # -- authorization -------------------------------------------------------------------------
    "auth.401-when-needed": Fix(
        "Respond with 401 to requests without a valid token.",
        'WWW-Authenticate: Bearer resource_metadata="https://example.com/.well-known/'
        'oauth-protected-resource"',
    ),
    "auth.prm.exists": Fix(
        "Serve the metadata document of RFC 9728 at /.well-known/oauth-protected-resource.",
        '{"resource": "https://example.com/mcp", '
        '"authorization_servers": ["https://id.example.com"]}',
    ),
    "auth.prm.www-authenticate": Fix(
        "Name the URL of the metadata document in the 401 response.",
        'WWW-Authenticate: Bearer resource_metadata="https://example.com/.well-known/'
        'oauth-protected-resource"',
    ),
    "auth.token.every-request": Fix(
        "Validate the token of every request, also if the request has a session id."
    ),
    # -- tools ---------------------------------------------------------------------------------
    "tools.schema.shape": Fix(
        "Give each tool a `name` and an `inputSchema` whose type is object.",
        '{"name": "add", "inputSchema": {"type": "object", '
        '"properties": {"a": {"type": "integer"}}, "required": ["a"]}}',
    ),
    "tools.inputschema.valid": Fix(
        "Replace the inputSchema by a valid JSON Schema; for a tool without parameters use the "
        "example.",
        '{"inputSchema": {"type": "object", "additionalProperties": false}}',
    ),
    "tools.inputschema.root-object": Fix(
        "Set the type of the root of inputSchema to object, and move other types into a property.",
        '{"inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}',
    ),
    "tools.inputschema.no-params": Fix(
        "Set additionalProperties to false for a tool without parameters.",
        '{"inputSchema": {"type": "object", "additionalProperties": false}}',
    ),
    "tools.outputschema.root-object": Fix(
        "Until 2025-11-25, wrap the output in an object.",
        '{"outputSchema": {"type": "object", "properties": {"result": {"type": "integer"}}}}',
    ),
    "tools.name.charset": Fix(
        "Rename the tool: use only A-Z, a-z, 0-9, underscore, hyphen and dot.",
        '{"name": "search_notes"}',
    ),
    "tools.name.no-special": Fix(
        "Rename the tool without spaces, commas or other special characters.",
        '{"name": "search_notes"}',
    ),
    "tools.name.length": Fix("Use a name of 1 to 128 characters.", '{"name": "search_notes"}'),
    "tools.name.unique": Fix("Rename one of the tools; `title` may be the same for both."),
    "tools.call.unknown": Fix(
        "Respond to an unknown tool with the protocol error -32602 instead of a result.",
        '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Unknown tool: ad"}}',
    ),
    "tools.call.malformed": Fix(
        "Respond with -32602 if a tools/call has no name, or a name that is not a string.",
        '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Missing name"}}',
    ),
    "tools.call.input-error-is-result": Fix(
        "Return invalid arguments as a result with isError, so that the model can correct them.",
        '{"content": [{"type": "text", "text": "days: expected integer"}], "isError": true}',
    ),
    "tools.call.errors-in-result": Fix(
        "Catch exceptions of the tool and return them as a result with isError.",
        '{"content": [{"type": "text", "text": "The file does not exist."}], "isError": true}',
    ),
    "tools.call.result-shape": Fix(
        "Return `content` as an array of content blocks.",
        '{"content": [{"type": "text", "text": "Done."}]}',
    ),
    "tools.call.structured-text": Fix(
        "Add the JSON of structuredContent as a text block, for clients that read only text.",
        '{"content": [{"type": "text", "text": "{\\"total\\":3}"}], '
        '"structuredContent": {"total": 3}}',
    ),
    "tools.call.output-present": Fix(
        "Return structuredContent if the tool has an outputSchema.",
        '{"content": [{"type": "text", "text": "{\\"total\\":3}"}], '
        '"structuredContent": {"total": 3}}',
    ),
    "tools.call.output-conforms": Fix(
        "Return data that matches outputSchema, or correct the schema."
    ),
    "tools.annotations.types": Fix(
        "Use booleans for hints and a string for the title.",
        '{"annotations": {"title": "Search", "readOnlyHint": true}}',
    ),
    "tools.security.validate": Fix(
        "Validate arguments with inputSchema before the tool runs, and report what is wrong.",
        '{"content": [{"type": "text", "text": "days: expected integer"}], "isError": true}',
    ),
    # -- resources, prompts and utilities ------------------------------------------------------
    "resources.schema.shape": Fix(
        "Give each resource a `uri` and a `name`.", '{"uri": "shop://prices", "name": "prices"}'
    ),
    "resources.subscribe-undeclared": Fix(
        "Respond to resources/subscribe with -32601 unless you declare `subscribe`.",
        '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}',
    ),
    "resources.read.contents": Fix(
        "Return `contents` as an array whose items have a uri and either text or blob.",
        '{"contents": [{"uri": "shop://prices", "mimeType": "text/plain", "text": "tea: 2.50"}]}',
    ),
    "resources.read.mime-consistent": Fix(
        "Return the same mimeType that resources/list has for the URI."
    ),
    "resources.notfound.32002": Fix(
        "Until 2025-11-25, respond with -32002 if a resource does not exist.",
        '{"code": -32002, "message": "Resource not found", "data": {"uri": "shop://none"}}',
    ),
    "resources.notfound.32602": Fix(
        "From 2026-07-28 on, respond with -32602 if a resource does not exist.",
        '{"code": -32602, "message": "Resource not found", "data": {"uri": "shop://none"}}',
    ),
    "resources.security.traversal": Fix(
        "Resolve the path, including encoded dots and links, and reject it if it is outside of the "
        "served folder."
    ),
    "prompts.get.unknown-32602": Fix(
        "Respond to an unknown prompt with -32602.",
        '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Unknown prompt: x"}}',
    ),
    "prompts.get.missing-args-32602": Fix(
        "Respond with -32602 if a required argument of the prompt is missing.",
        '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Missing: text"}}',
    ),
    "completion.unsupported-32601": Fix(
        "Respond to completion/complete with -32601 unless you declare `completions`.",
        '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}',
    ),
    "logging.setlevel": Fix(
        "Return an empty object from logging/setLevel, or do not declare `logging`.",
        '{"jsonrpc": "2.0", "id": 1, "result": {}}',
    ),
    "logging.invalid-level-32602": Fix(
        "Respond with -32602 if the level is not one of the eight levels.",
        '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Unknown level"}}',
    ),
    "pagination.invalid-32602": Fix(
        "Respond with -32602 to a cursor that you did not issue.",
        '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Invalid cursor"}}',
    ),
}
