"""Ways to hide text on a page, and visible text that looks similar; `{word}` is the text."""

from __future__ import annotations

__all__ = ["HIDDEN", "VISIBLE", "build_page", "word_of"]


def _styled(**styles: str) -> dict[str, str]:
    return {
        kind.replace("_", " "): f'<p style="{style}">{{word}}</p>' for kind, style in styles.items()
    }


def _svg(attributes: str) -> str:
    return f'<svg width="900" height="30"><text {attributes}>{{word}}</text></svg>'


def _under(style: str, cover: str) -> str:
    """Text in a box of 900 x 60 pixels, followed by another element."""
    return (
        f'<div style="position:relative;width:900px;height:60px"><p style="margin:0;{style}">'
        f"{{word}}</p>{cover}</div>"
    )


_FILL = "position:absolute;left:0;top:0;width:900px;height:60px"

HIDDEN = {
    **_styled(
        display_none="display:none",
        visibility_hidden="visibility:hidden",
        visibility_collapse="visibility:collapse",
        opacity_zero="opacity:0",
        opacity_low="opacity:0.01",
        font_size_zero="font-size:0",
        font_size_tiny="font-size:1px",
        same_colour="color:white",
        nearly_same_colour="color:#fdfdfd",
        transparent_colour="color:transparent",
        nearly_transparent_colour="color:rgba(0,0,0,.02)",
        white_in_oklch="color:oklch(1 0 0)",
        white_in_lab="color:lab(100 0 0)",
        transparent_fill="-webkit-text-fill-color:transparent",
        same_colour_on_own_background="background:#c00;color:#c00",
        white_with_white_shadow="color:white;text-shadow:0 0 2px white",
        clear_with_clear_shadow="color:transparent;text-shadow:0 0 transparent",
        gradient_of_the_same_colour="background:linear-gradient(#222,#222);color:#222",
        text_painted_white="background:white;background-clip:text;color:transparent",
        text_painted_with_white_gradient=(
            "background:linear-gradient(#fff,#fff);-webkit-background-clip:text;color:transparent"
        ),
        off_screen_left="position:absolute;left:-9999px",
        off_screen_top="position:absolute;top:-9999px",
        off_screen_right="position:absolute;left:99999px",
        off_screen_fixed="position:fixed;top:-500px",
        off_screen_by_margin="margin-left:-9999px;width:300px",
        off_screen_by_transform="transform:translateX(-9999px)",
        text_indent="text-indent:-9999px;white-space:nowrap",
        clip_rectangle="position:absolute;clip:rect(0,0,0,0)",
        clip_path_inset="clip-path:inset(50%)",
        clip_path_circle="clip-path:circle(0)",
        clip_path_polygon="clip-path:polygon(0 0,0 0,0 0)",
        no_height="height:0;overflow:hidden",
        no_maximum_height="max-height:0;overflow:hidden",
        no_width="width:0;overflow:hidden;white-space:nowrap",
        one_pixel="width:1px;height:1px;overflow:hidden;white-space:nowrap",
        no_line_height="line-height:0;overflow:hidden",
        scaled_to_nothing="transform:scale(0)",
        scaled_to_a_dot="transform:scale(0.01)",
        zoomed_to_a_dot="zoom:0.01",
        turned_on_edge="transform:rotateY(90deg)",
        back_of_a_turned_element="transform:rotateY(180deg);backface-visibility:hidden",
        filter_opacity="filter:opacity(0)",
        filter_blur="filter:blur(20px)",
        filter_contrast="filter:contrast(0) brightness(3)",
        filter_brightness="filter:brightness(100)",
        mask_of_clear_colour="mask-image:linear-gradient(transparent,transparent)",
        mask_without_size=(
            "mask-image:linear-gradient(#000,#000);mask-size:0 0;mask-repeat:no-repeat"
        ),
        content_visibility="content-visibility:hidden",
        blended_into_white="mix-blend-mode:screen;color:#888",
    ),
    "hidden attribute": "<p hidden>{word}</p>",
    "opacity of an ancestor": '<div style="opacity:0"><div><p>{word}</p></div></div>',
    "product of opacities": '<div style="opacity:.2"><p style="opacity:.2">{word}</p></div>',
    "part of a sentence": '<p>Before <span style="opacity:0">{word}</span> after</p>',
    "part of a link": '<a href="/x">Buy <i style="display:none">{word}</i>now</a>',
    "closed details": "<details><summary>More</summary><p>{word}</p></details>",
    "template": "<template><p>{word}</p></template>",
    "noscript": "<noscript><p>{word}</p></noscript>",
    "comment": "<!-- {word} -->",
    "canvas fallback": '<canvas width="20" height="20"><p>{word}</p></canvas>',
    "video fallback": '<video width="20" height="20"><p>{word}</p></video>',
    "data list": "<datalist><option>{word}</option></datalist>",
    "hidden field": '<input type="hidden" value="{word}">',
    "alternative text of a hidden image": '<img alt="{word}" style="opacity:0" width="9">',
    "label of a hidden region": '<section aria-label="{word}" style="opacity:0"><p>x</p></section>',
    "value of a hidden field": '<input value="{word}" style="opacity:0">',
    "generated text": "<style>.gen::before{{content:'{word}';opacity:0}}</style><p class=gen>.</p>",
    "svg text without fill": _svg('y="20" fill="none"'),
    "svg text in white": _svg('y="20" fill="#fff"'),
    "svg fill opacity": _svg('y="20" fill-opacity="0"'),
    "svg text outside": _svg('y="400"'),
    "svg definitions": "<svg width='9' height='9'><defs><text y='9'>{word}</text></defs></svg>",
    "outside of a clipping box": (
        '<div style="overflow:hidden;width:100px;height:30px;position:relative">'
        '<p style="position:absolute;left:150px;top:0;margin:0">{word}</p></div>'
    ),
    "below a clipping box": (
        '<div style="overflow:hidden;height:30px"><br><br><br><br><p>{word}</p></div>'
    ),
    "outside of overflow: clip": (
        '<div style="overflow:clip;height:30px"><br><br><br><br><p>{word}</p></div>'
    ),
    "covered by a box": _under("", f'<div style="{_FILL};background:white"></div>'),
    "covered by a box that cannot be clicked": _under(
        "", f'<div style="{_FILL};background:white;pointer-events:none"></div>'
    ),
    "covered by a gradient": _under(
        "", f'<div style="{_FILL};background:linear-gradient(#eee,#eee)"></div>'
    ),
    "covered by a canvas": _under("", f'<canvas style="{_FILL}"></canvas>'),
    "covered by an image": _under(
        "",
        f"<img style='{_FILL}' src=\"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>\">",
    ),
    "covered by a higher layer": _under(
        "position:relative;z-index:1", f'<div style="{_FILL};background:#eee;z-index:2"></div>'
    ),
    "covered by a margin": (
        '<p style="margin:0;height:40px">{word}</p>'
        '<div style="margin-top:-40px;height:40px;background:white;position:relative"></div>'
    ),
    "covered by generated content": (
        "<style>.cover{{position:relative;width:900px}}.cover::after{{content:'';"
        "position:absolute;inset:0;background:white}}</style><p class=cover>{word}</p>"
    ),
    "behind its container": (
        '<div style="background:#eee"><p style="position:relative;z-index:-1">{word}</p></div>'
    ),
    "white on a white neighbour": _under(
        "position:relative;color:#eee;z-index:1", f'<div style="{_FILL};background:#eee"></div>'
    ),
}

VISIBLE = {
    **_styled(
        plain="",
        opacity="opacity:.6",
        small="font-size:9px",
        grey="color:#777",
        white_on_dark="background:#222;color:white",
        white_on_gradient="background:linear-gradient(#006,#00c);color:white",
        white_with_dark_shadow="color:white;text-shadow:0 0 3px black",
        painted_with_gradient=(
            "background:linear-gradient(90deg,#c00,#00c);background-clip:text;color:transparent"
        ),
        slightly_blurred="filter:blur(.5px)",
        other_filters="filter:contrast(1.2) brightness(1.1)",
        mask_that_fades="mask-image:linear-gradient(#000,transparent)",
        turned="transform:rotate(10deg)",
        front_of_an_element="backface-visibility:hidden;transform:rotateY(20deg)",
        mirrored="transform:scaleX(-1);backface-visibility:hidden",
        clipped_a_little="clip-path:inset(0 0 1px 0)",
        overflow_with_room="overflow:hidden;height:40px",
        moved="position:relative;left:20px",
        fixed="position:fixed;top:300px;right:0",
        blended="mix-blend-mode:multiply;color:#333",
        oklch="color:oklch(0.4 0.1 200)",
    ),
    "open details": "<details open><summary>More</summary><p>{word}</p></details>",
    "svg text": _svg('y="20"'),
    "stroked svg text": _svg('y="20" fill="none" stroke="#000"'),
    "scrollable box": (
        '<div style="overflow:auto;height:30px"><div style="height:90px">a</div><p>{word}</p></div>'
    ),
    "absolute in a clipping box that is not its container": (
        '<div style="overflow:hidden;height:5px"><p style="position:absolute">{word}</p></div><br>'
    ),
    "half transparent cover": _under(
        "", f'<div style="{_FILL};background:rgba(255,255,255,.3)"></div>'
    ),
    "above another box": _under(
        "position:relative;z-index:1", f'<div style="{_FILL};background:#eee"></div>'
    ),
    "above its own background": (
        '<div style="position:relative"><div style="position:absolute;inset:0;background:#eee">'
        '</div><p style="position:relative">{word}</p></div>'
    ),
    "above a negative layer": _under("", f'<div style="{_FILL};background:#eee;z-index:-1"></div>'),
    "on an image": _under("position:relative;color:white", "").replace(
        "<p", f'<canvas style="{_FILL};background:#333"></canvas><p', 1
    ),
    "inside of a positioned box": (
        '<div style="position:absolute;right:0;background:#eee"><b>{word}</b></div><br><br>'
    ),
    "above generated content": (
        "<style>.above{{position:relative}}.above::before{{content:'';position:absolute;"
        "inset:0;background:#eee}}.above span{{position:relative}}</style>"
        "<p class=above><span>{word}</span></p>"
    ),
    "above generated content of a lower layer": (
        "<style>.lower{{position:relative;z-index:0}}.lower::after{{content:'';position:absolute;"
        "inset:0;background:#eee;z-index:-1}}</style><p class=lower>{word}</p>"
    ),
    "beside generated content": (
        "<style>.mark{{position:relative;padding-left:20px}}.mark::before{{content:'';"
        "position:absolute;left:0;top:0;width:9px;height:9px;background:red}}</style>"
        "<p class=mark>{word}</p>"
    ),
    "in a card": '<div style="background:#eee"><div style="background:#fff">{word}</div></div>',
    "negative layer in a context": (
        '<div style="isolation:isolate;background:#eee">'
        '<p style="position:relative;z-index:-1">{word}</p></div>'
    ),
    "button": "<button>{word}</button>",
    "label of a button": '<button aria-label="{word}">x</button>',
    "alternative text": '<img alt="{word}" width="30" height="30" src="/dot.png">',
}


def word_of(kind: str) -> str:
    """Return the text of a kind, which no other kind contains."""
    return f"Word{''.join(part.capitalize() for part in kind.replace(':', '').split())}End"


def build_page(kinds: dict[str, str]) -> str:
    """Return a page with all kinds."""
    parts = (
        f"<section>{html.format(word=word_of(kind))}</section>" for kind, html in kinds.items()
    )
    return f"<title>Kinds</title><style>section{{margin:9px}}</style>{''.join(parts)}"
