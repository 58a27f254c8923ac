"""server/prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.contents import prompt_blocks
from dovetail_check.exchanges import Exchange
from dovetail_check.formats import base64_problem, mime_problem, uri_problem
from dovetail_check.notes import (
    expect_codes,
    expect_error,
    note_each,
    offered,
    page_problems,
    undeclared,
)
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, not_applicable, satisfied, violated

__all__: list[str] = []

_GETS = ("get-prompts",)
_INVALID_PARAMS = (-32602,)


@rule("prompts.schema.shape", reads=("walk",))
def prompts_have_their_shape(session: ProbeSession) -> Iterator[Note]:
    """A prompt has a name, and its arguments have names."""
    yield from undeclared(session, "prompts")

    def problem(prompt: dict[str, Any]) -> str | None:
        found = shapes.problems(prompt, "Prompt", session.revision)
        return f"prompt {prompt.get('name')!r:.80}: {'; '.join(found[:3])}" if found else None

    yield from note_each(offered(session, "prompts"), problem)
    yield from page_problems(session, "prompts", "prompts/list")


@rule("prompts.get.shape", reads=_GETS)
def results_have_their_shape(session: ProbeSession) -> Iterator[Note]:
    """The messages have a role and content types of the revision."""
    yield from undeclared(session, "prompts")
    for exchange in session.sent("prompts/get"):
        if exchange.result is None:
            continue
        found = shapes.result_problems(exchange.result, "prompts/get", session.revision)
        if found:
            yield violated(exchange, f"the result of prompts/get: {'; '.join(found[:3])}")
        else:
            yield satisfied(exchange)


# -- content ---------------------------------------------------------------------------------------


def _judge(
    session: ProbeSession, kind: str, find_problem: Callable[[dict[str, Any]], str | None]
) -> Iterator[Note]:
    yield from undeclared(session, "prompts")
    blocks = list(prompt_blocks(session, kind))
    if not blocks and session.tagged("get-prompts"):
        yield not_applicable(f"no prompt that was read has {kind} content")
    yield from note_each(blocks, find_problem)


def _data_problem(block: dict[str, Any]) -> str | None:
    return base64_problem(block.get("data")) or mime_problem(block.get("mimeType"))


@rule("prompts.get.image", reads=_GETS)
def images_are_encoded(session: ProbeSession) -> Iterator[Note]:
    """The data is base64, and there is a MIME type."""
    yield from _judge(session, "image", _data_problem)


@rule("prompts.get.audio", reads=_GETS)
def audio_is_encoded(session: ProbeSession) -> Iterator[Note]:
    """The data is base64, and there is a MIME type."""
    yield from _judge(session, "audio", _data_problem)


def _resource(block: dict[str, Any]) -> dict[str, Any]:
    resource = block.get("resource")
    return resource if isinstance(resource, dict) else {}


@rule("prompts.get.embedded-uri", reads=_GETS)
def embedded_resources_have_a_uri(session: ProbeSession) -> Iterator[Note]:
    """The URI follows RFC 3986. A URI that repeats a probe argument is not judged."""
    yield from undeclared(session, "prompts")
    blocks = list(prompt_blocks(session, "resource"))
    own = [(where, block) for where, block in blocks if not _repeats_argument(where, block)]
    if not own and session.tagged("get-prompts"):
        yield not_applicable("no prompt that was read has a resource with a URI of its own")
    yield from note_each(own, lambda block: uri_problem(_resource(block).get("uri")))


def _repeats_argument(asked: Exchange, block: dict[str, Any]) -> bool:
    given = asked.params.get("arguments")
    return isinstance(given, dict) and _resource(block).get("uri") in list(given.values())


@rule("prompts.get.embedded-mime", reads=_GETS)
def embedded_resources_have_a_mime_type(session: ProbeSession) -> Iterator[Note]:
    """The MIME type is required in prompts, although it is optional elsewhere."""
    yield from _judge(
        session, "resource", lambda block: mime_problem(_resource(block).get("mimeType"))
    )


@rule("prompts.get.embedded-content", reads=_GETS)
def embedded_resources_have_content(session: ProbeSession) -> Iterator[Note]:
    """It has text, or a blob in base64."""

    def problem(block: dict[str, Any]) -> str | None:
        resource = _resource(block)
        if isinstance(resource.get("text"), str):
            return None
        if "blob" in resource:
            return base64_problem(resource["blob"])
        return "an embedded resource has neither text nor blob"

    yield from _judge(session, "resource", problem)


# -- rejections ------------------------------------------------------------------------------------


@rule("prompts.get.unknown-32602", reads=("prompt-refusals",))
def unknown_prompts_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """An unknown prompt gets -32602."""
    yield from undeclared(session, "prompts")
    found = session.tagged("prompt-refusals/unknown")
    yield from expect_codes(found, "an unknown prompt", _INVALID_PARAMS)


@rule("prompts.get.missing-args-32602", reads=("prompt-refusals",))
def missing_arguments_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """A prompt without its required arguments gets -32602."""
    yield from undeclared(session, "prompts")
    found = session.tagged("prompt-refusals/missing")
    yield from expect_codes(found, "a prompt without its required arguments", _INVALID_PARAMS)


@rule("prompts.validate-args", reads=("prompt-refusals",))
def arguments_are_validated(session: ProbeSession) -> Iterator[Note]:
    """Arguments that are missing or not strings are rejected."""
    yield from undeclared(session, "prompts")
    found = session.tagged("prompt-refusals/missing", "prompt-refusals/wrong-type")
    yield from expect_error(found, "a prompt with invalid arguments")


@rule("prompts.respect-capabilities", reads=("walk", "undeclared"))
def capabilities_are_respected(session: ProbeSession) -> Iterator[Note]:
    """prompts/list works if prompts is declared, and only then."""
    for exchange in session.tagged("undeclared/prompts/list"):
        items = (exchange.result or {}).get("prompts")
        if isinstance(items, list) and items:
            yield violated(exchange, "prompts are listed, but prompts is not declared")
        else:
            yield satisfied(exchange)
    for page in session.pages("prompts"):
        if page.result is not None:
            yield satisfied(page)
        elif page.error is not None:
            yield violated(page, f"prompts is declared, but prompts/list got {page.describe()}")


unjudged.update(
    {
        "prompts.get.resource-link": "a permission: nothing to violate",
        "prompts.get.input-required": "a permission: covered by the rows of multi round-trip "
        "requests",
        "prompts.error.internal": "needs a prompt handler that fails",
        "prompts.security": "not visible on the wire: the effect of an injection",
    }
)
