"""Prompts that start a task: a post, a presentation, a text, a certificate.

Prompt arguments are always strings, so numbers are passed as strings.
"""

from __future__ import annotations

from typing import Annotated, Literal

from dovetail import Context, Server
from dovetail_design.design_resources import complete_design
from dovetail_design.studio import Studio, caller_of

__all__ = ["PLATFORMS", "add_design_prompts"]

_Platform = Literal[
    "instagram", "instagram-story", "facebook", "twitter", "linkedin", "pinterest", "youtube"
]
# Platform -> its preset.
PLATFORMS: dict[str, str] = {
    "instagram": "instagram-post",
    "instagram-story": "instagram-story",
    "facebook": "facebook-post",
    "twitter": "twitter-post",
    "linkedin": "linkedin-post",
    "pinterest": "pinterest-pin",
    "youtube": "youtube-thumbnail",
}
_CHECK = (
    "Then check it with render_preview and fix what describe_design reports (overlaps, "
    "overflowing text, low contrast) before you show it to me."
)


def add_design_prompts(server: Server, studio: Studio) -> None:
    """Register them."""

    @server.prompt(name="create_social_post", title="A social post")
    def create_social_post(
        platform: Annotated[_Platform, "The platform that it is for."],
        message: Annotated[str, "The text of the post."] = "",
        style: Annotated[str, "The style, such as bold or pastel."] = "",
    ) -> str:
        """Create a post in the size of a platform."""
        says = f" that says: {message}" if message else ""
        look = f" in a {style} style" if style else ""
        return (
            f"Create a post for {platform}{says}{look}. Find a suitable template with "
            "list_templates (category social) and fill it with apply_template, or begin with "
            f"create_design and the preset {PLATFORMS[platform]!r} and add elements with "
            f"edit_design. {_CHECK}"
        )

    def presentation(
        title: Annotated[str, "Title of the presentation."],
        content: Annotated[str, "The topic of the slides."] = "",
        slides: Annotated[str, "Number of slides."] = "",
    ) -> str:
        """Create the slides of a presentation."""
        count = f" with {slides} slides" if slides else ""
        about = f" about: {content}" if content else ""
        return (
            f"Create a presentation {title!r}{count}{about}. Each slide is a design with the "
            "preset 'full-hd'; list_templates with the category presentation has title, content "
            "and closing slides, which apply_template fills. Number the names of the designs. "
            f"{_CHECK} Finally export each one with export_design, format pptx or pdf."
        )

    server.prompts.add(presentation, name="create_presentation", title="A presentation")
    server.prompts.add(
        presentation, name="create_presentation_slide", title="A slide of a presentation"
    )

    @server.prompt(name="add_text_element", title="Add a text")
    def add_text_element(
        designId: Annotated[str, "The design."],
        text: Annotated[str, "The text."],
        fontSize: Annotated[str, "In pixels."] = "32",
    ) -> str:
        """Add a text to a design where there is room for it."""
        return (
            f"Add the text {text!r} to the design {designId!r}, {fontSize} pixels high. First "
            "call describe_design to see where there is room, then add_element with a box that "
            f"holds the text. {_CHECK}"
        )

    @server.prompt(name="create_certificate", title="A certificate")
    def create_certificate(
        recipient: Annotated[str, "The recipient."],
        awardTitle: Annotated[str, "What the certificate is for."],
        date: Annotated[str, "Date of the award."] = "",
        issuer: Annotated[str, "The issuer."] = "",
    ) -> str:
        """Create a certificate."""
        more = "".join(
            f"\n- {name}: {value}" for name, value in (("Date", date), ("Issuer", issuer)) if value
        )
        return (
            f"Create a certificate.\n- Recipient: {recipient}\n- Award: {awardTitle}{more}\n\nFind "
            "a template with list_templates (category certificate), see which fields it has, and "
            f"fill them with apply_template. {_CHECK} Export it with export_design as pdf."
        )

    _add_completions(server, studio)


def _add_completions(server: Server, studio: Studio) -> None:
    def platforms(typed: str) -> list[str]:
        return [one for one in PLATFORMS if one.startswith(typed.lower())]

    def ids(ctx: Context, typed: str) -> list[str]:
        return complete_design(studio, caller_of(ctx), typed)

    def sizes(typed: str) -> list[str]:
        return [one for one in ("16", "24", "32", "48", "64", "96") if one.startswith(typed)]

    def counts(typed: str) -> list[str]:
        return [one for one in map(str, range(1, 21)) if one.startswith(typed)]

    def styles(typed: str) -> list[str]:
        words = ("bold", "dark", "elegant", "minimal", "modern", "pastel", "playful", "warm")
        return [one for one in words if one.startswith(typed.lower())]

    server.complete("create_social_post", "platform")(platforms)
    server.complete("create_social_post", "style")(styles)
    server.complete("create_presentation", "slides")(counts)
    server.complete("create_presentation_slide", "slides")(counts)
    server.complete("add_text_element", "designId")(ids)
    server.complete("add_text_element", "fontSize")(sizes)
