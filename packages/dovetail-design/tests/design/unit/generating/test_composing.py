"""From a prompt to a design."""

from __future__ import annotations

import subprocess
import sys

from dovetail_design.generating.composing import compose, generate
from dovetail_design.library.templates import list_templates
from dovetail_design.model import Text

TEMPLATES = {template.id: template for template in list_templates()}


def test_what_the_prompt_says_stands_on_the_design() -> None:
    made = compose('quote card "Less, but better" by Dieter Rams')
    words = [element.text for element in made.design.elements if isinstance(element, Text)]
    assert {"Less, but better", "Dieter Rams"} <= set(words)
    assert made.template == "quote-card"
    assert made.open_slots == ()
    assert made.name == "Less, but better"


def test_what_it_does_not_say_is_listed() -> None:
    made = compose("business card for Ana Silva")
    assert "phone" in made.open_slots
    assert "Still to be filled in: " in made.explanation


def test_without_a_size_the_template_decides() -> None:
    made = compose("invoice")
    template = TEMPLATES[made.template]
    assert (made.design.width, made.design.height) == (template.width, template.height)


def test_the_same_words_give_the_same_design() -> None:
    assert generate("a jazz poster", 800, 1200, "blue") == generate(
        "a jazz poster", 800, 1200, "blue"
    )


def test_a_style_changes_the_colours() -> None:
    assert generate("jazz poster", style="blue") != generate("jazz poster")


def test_a_design_without_words_of_its_own_is_called_by_its_template() -> None:
    assert compose("   infographic   ").name


def test_the_design_is_the_same_in_another_process() -> None:
    probe = (
        "import hashlib, msgspec\n"
        "from dovetail_design.generating.composing import generate\n"
        "design = generate('a jazz poster for Blue Nights on 21 June', 800, 1200, 'dark teal')\n"
        "print(hashlib.sha256(msgspec.json.encode(design)).hexdigest())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", probe],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1
