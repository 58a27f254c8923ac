"""Templates as values: slots, samples and what becomes of them."""

from __future__ import annotations

from dovetail_design.library.templates.template import Template, fill_text
from dovetail_design.model import Text


def make(**slots: str) -> Template:
    return Template(
        id="one",
        name="One",
        category="test",
        description="",
        tags=(),
        width=400,
        height=300,
        background="#ffffff",
        layout=(
            {"type": "text", "box": [10, 10, 300, 40], "text": "Dear {{name}}", "fontSize": 20},
            {
                "type": "table",
                "x": 10,
                "y": 60,
                "width": 300,
                "height": 100,
                "tableRows": 1,
                "tableColumns": 1,
                "tableCellData": [{"row": 0, "col": 0, "text": "{{ amount }}"}],
            },
        ),
        slots=slots or {"name": "Ada", "amount": "12"},
    )


def test_the_fields_of_texts_and_cells_are_found() -> None:
    assert make().fields() == {"name", "amount"}


def test_samples_fill_what_data_leaves_open() -> None:
    elements = make().filled({"name": "Grace"})
    assert elements[0]["text"] == "Dear Grace"
    assert elements[1]["tableCellData"][0]["text"] == "12"


def test_filling_leaves_the_template_as_it_was() -> None:
    template = make()
    template.filled({"name": "Grace"})
    assert template.elements[0]["text"] == "Dear {{name}}"


def test_as_a_design_its_elements_have_ids() -> None:
    design = make().design()
    assert [element.id for element in design.elements] == ["e1", "e2"]
    first = design.elements[0]
    assert isinstance(first, Text)
    assert (first.text, first.isDynamic, first.name) == ("Dear Ada", True, "name")


def test_a_field_without_a_value_stays() -> None:
    assert fill_text("{{a}} and {{b}}", {"a": "1"}) == "1 and {{b}}"
