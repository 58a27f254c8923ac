"""An example call for every tool: documentation, and run in this order by a test.

`DESIGN`, `TITLE` and `TEMPLATE` stand for ids; the test replaces them by real ones.
"""

from __future__ import annotations

from typing import Any

__all__ = ["EXAMPLES", "SHOWN"]

# Tools whose description shows the example, because their calls are not obvious.
SHOWN = frozenset({"add_element", "edit_design", "apply_template"})

_DESIGN = {"designId": "DESIGN"}
_TITLE = {
    "type": "text",
    "id": "title",
    "text": "Hello {{name}}",
    "x": 80,
    "y": 80,
    "width": 920,
    "height": 120,
    "fontSize": 72,
    "fontWeight": "bold",
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "create_design": {"name": "Spring sale", "preset": "instagram-post", "background": "#fff7e6"},
    "add_element": {**_DESIGN, "element": _TITLE},
    "edit_design": {
        **_DESIGN,
        "operations": [
            {
                "op": "add",
                "element": {
                    "type": "rectangle",
                    "id": "card",
                    "x": 80,
                    "y": 300,
                    "width": 400,
                    "height": 400,
                    "fill": "linear-gradient(135deg, #ff8a00, #e52e71)",
                    "borderRadius": 24,
                },
            },
            {
                "op": "add",
                "element": {
                    "type": "qr",
                    "id": "code",
                    "x": 600,
                    "y": 300,
                    "width": 300,
                    "height": 300,
                    "qrValue": "https://example.org",
                },
            },
            {"op": "align", "elementIds": ["card", "code"], "to": ["middle"]},
        ],
        "dryRun": False,
    },
    "update_element": {**_DESIGN, "elementId": "title", "updates": {"fill": "#222222"}},
    "arrange_elements": {
        **_DESIGN,
        "elementIds": ["card", "code"],
        "mode": "distribute",
        "axis": "horizontal",
        "gap": 160,
    },
    "list_designs": {"search": "sale", "limit": 10},
    "get_design": {**_DESIGN, "elementIds": ["title"]},
    "update_design": {**_DESIGN, "description": "For the window", "ifVersion": 5},
    "render_preview": {**_DESIGN, "maxWidth": 400, "labels": True},
    "describe_design": {**_DESIGN, "detail": "outline"},
    "export_design": {**_DESIGN, "format": "png", "scale": 1},
    "resize_canvas": {**_DESIGN, "width": 1080, "height": 1350, "mode": "scale"},
    "design_history": {**_DESIGN, "action": "undo"},
    "create_template": {
        **_DESIGN,
        "name": "Greeting",
        "category": "cards",
        "slots": {"name": "Ada"},
    },
    "list_templates": {"category": "cards"},
    "apply_template": {"templateId": "TEMPLATE", "data": [{"name": "Bo"}, {"name": "Cy"}]},
    "duplicate_design": {**_DESIGN, "newName": "Spring sale, second"},
    "list_assets": {"type": "IMAGE"},
    "upload_asset": {
        "file": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
        "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "name": "dot.png",
        "type": "IMAGE",
    },
    "search_stock_images": {"query": "waves", "perPage": 5},
    "search_icons": {"query": "shopping cart", "perPage": 3},
    "search_clipart": {"query": "balloon"},
    "search_illustrations": {"query": "mountains"},
    "list_fonts": {"category": "serif"},
    "list_shapes": {"category": "arrows"},
    "generate_design": {"prompt": "A poster for a jazz concert on 3 May", "style": "dark"},
    "chat_with_civi": {"message": "make the title bigger", "context": _DESIGN},
    "read_design": {**_DESIGN, "what": "outline"},
    "search_library": {"kind": "icons", "query": "heart", "limit": 2},
    "delete_element": {**_DESIGN, "elementId": "title"},
    "clear_canvas": _DESIGN,
    "delete_design": _DESIGN,
}
