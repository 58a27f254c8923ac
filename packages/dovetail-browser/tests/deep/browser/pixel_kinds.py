"""Text that only its pixels show to be hidden, and honest text of many kinds; `{word}` is the text.

The hidden kinds are each technique with each carrier that it applies to.
"""

# ruff: noqa: E501, RUF001 - a table of HTML, with words of many scripts
from __future__ import annotations

import base64
import io
from urllib.parse import quote

from fontTools.fontBuilder import FontBuilder
from fontTools.ttLib.tables._g_l_y_f import Glyph

__all__ = ["HONEST", "SCRIPTS", "TRICKS"]


def _picture(content: str) -> str:
    """Return the address of a picture; as an SVG, without quotes of either kind."""
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" preserveAspectRatio="none">{content}</svg>'
    return f"data:image/svg+xml,{quote(svg)}"


def _flat(colour: str) -> str:
    return _picture(f'<rect width="9" height="9" fill="{colour}"/>')


def _font() -> str:
    """Return the address of a font whose glyphs have no outlines."""
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "blank"])
    builder.setupCharacterMap(dict.fromkeys(range(32, 0x250), "blank"))
    builder.setupGlyf({".notdef": Glyph(), "blank": Glyph()})
    builder.setupHorizontalMetrics({".notdef": (600, 0), "blank": (600, 0)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Blank", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    file = io.BytesIO()
    builder.save(file)
    return f"data:font/ttf;base64,{base64.b64encode(file.getvalue()).decode()}"


# What the text is in. Colours are inherited, so that a technique applies to each.
CARRIERS = {
    "paragraph": "<p>{word}</p>",
    "link": '<p><a href="/x" style="color:inherit;text-decoration:none">{word}</a></p>',
    "list": "<ul><li style='list-style:none'>{word}</li></ul>",
    "cell": "<table><tr><td>{word}</td></tr></table>",
    "heading": "<h3><em>{word}</em></h3>",
    "code": "<pre><code>{word}</code></pre>",
}
WHITE = _flat("white")
COVER = "position:absolute;inset:0"


def _style(style: str) -> str:
    return f'<div style="{style}">{{it}}</div>'


def _covered(cover: str) -> str:
    return f'<div style="position:relative;width:600px">{{it}}{cover}</div>'


TECHNIQUES = {
    "white picture": _style(f"background:url({WHITE});color:#fff"),
    "white picture behind": (
        f'<div style="position:relative;background:#333"><img style="{COVER};width:100%;'
        f'height:100%" src="{WHITE}"><div style="position:relative;color:white">{{it}}</div></div>'
    ),
    "black picture": _style(f"background:url({_flat('black')});color:#010101"),
    "layers of gradients": _style(
        "background:linear-gradient(#fff,#fff),linear-gradient(#000,red);color:white"
    ),
    "contain strict": _style("contain:strict"),
    "contain size and paint": _style("contain:size paint"),
    "font without outlines": (
        f"<style>@font-face{{{{font-family:Blank;src:url({_font()})}}}}</style>"
        '<div style="font-family:Blank">{it}</div>'
    ),
    "mask of a transparent picture": _style(f"mask-image:url({_picture('')});mask-size:100% 100%"),
    "mask of a gradient beyond": _style("mask-image:linear-gradient(transparent 99%,#000)"),
    "mask elsewhere": _style(
        "mask:linear-gradient(#000,#000) no-repeat 0 900px;-webkit-mask-size:10px 10px"
    ),
    "border over the text": _covered(
        f'<div style="{COVER};border:40px solid #eee;pointer-events:none"></div>'
    ),
    "box shadow over the text": _covered(
        '<div style="position:absolute;left:-50px;top:0;width:9px;height:9px;pointer-events:none;'
        'box-shadow:0 0 0 900px #eee;clip-path:inset(-90px -900px -90px -90px)"></div>'
    ),
    "inset shadow over the text": _covered(
        f'<div style="{COVER};box-shadow:inset 0 0 0 90px white;pointer-events:none"></div>'
    ),
    "outline over the text": _covered(
        '<div style="position:absolute;left:0;top:50%;width:600px;height:0;outline:60px solid #eee;'
        'pointer-events:none"></div>'
    ),
    "stroke in the colour of the background": _style("-webkit-text-stroke:12px white"),
    "line clamp of nothing": _style("height:0;overflow:clip;overflow-clip-margin:1px"),
    "ellipsis": _style(
        "width:90px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis"
    ).replace("{it}", "Shown words that are long enough <span class=inline>{it}</span>"),
    "svg without size": '<svg width="0" height="0"><foreignObject width="600" height="90">'
    "{it}</foreignObject></svg>",
    "foreign object without size": '<svg width="600" height="60"><foreignObject width="0" '
    'height="0">{it}</foreignObject></svg>',
    "svg mask": '<svg width="600" height="90"><mask id="m0"></mask><g mask="url(#m0)">'
    '<foreignObject width="600" height="90">{it}</foreignObject></g></svg>',
    "svg clip path": '<svg width="600" height="90"><clipPath id="c0"><rect width="0" height="0"/>'
    '</clipPath><foreignObject width="600" height="90" clip-path="url(#c0)">{it}'
    "</foreignObject></svg>",
    "css mask of an svg": '<svg width="0" height="0"><mask id="m1"><rect width="0" height="0"/>'
    '</mask></svg><div style="mask:url(#m1)">{it}</div>',
    "css clip path of an svg": '<svg width="0" height="0"><clipPath id="c1"></clipPath></svg>'
    '<div style="clip-path:url(#c1)">{it}</div>',
    "clip path far away": _style("clip-path:path('M900 900h9v9z')"),
    "clip path shape": _style("clip-path:inset(0 0 calc(100% - 1px) 0)"),
    "filter that erases": '<svg width="0" height="0"><filter id="f0"><feFlood flood-opacity="0"/>'
    '</filter></svg><div style="filter:url(#f0)">{it}</div>',
    "filter that whitens": _style("filter:invert(1);color:#000;background:#000"),
    "filter brightness": _style("background:#ddd;color:#333;filter:brightness(100)"),
    "filter contrast": _style("background:#777;color:#888;filter:contrast(0.1)"),
    "opacities that multiply": _style("opacity:.2").replace(
        "{it}", '<div style="opacity:.2">{it}</div>'
    ),
    "backdrop filter": _covered(
        f'<div style="{COVER};backdrop-filter:brightness(100)"></div>'
    ).replace("600px", "600px;background:#ddd;color:#333"),
    "blurred glass": _covered(f'<div style="{COVER};backdrop-filter:blur(30px)"></div>'),
    "blur": _style("filter:blur(12px)"),
    "blend mode": _style("background:#000;isolation:isolate").replace(
        "{it}", '<div style="mix-blend-mode:multiply">{it}</div>'
    ),
    "almost transparent cover": _covered(
        f'<div style="{COVER};background:rgba(255,255,255,.97);pointer-events:none"></div>'
    ),
    "two covers": _covered(
        f'<div style="{COVER};background:rgba(255,255,255,.8);pointer-events:none"></div>' * 2
    ),
    "cover of a picture": _covered(
        f'<div style="{COVER};background:url({_flat("beige")});pointer-events:none"></div>'
    ),
    "cover of stripes": _covered(
        f'<div style="{COVER};background:repeating-linear-gradient(#eee 0 9px,#ddd 9px 18px);'
        'pointer-events:none"></div>'
    ),
    "cover that is turned": _covered(
        f'<div style="{COVER};background:#eee;transform:rotate(180deg);pointer-events:none"></div>'
    ),
    "cover in a shadow root": _covered(
        f'<div><template shadowrootmode="open"><div style="{COVER};background:#eee"></div>'
        "</template></div>"
    ),
    "covered by an iframe": _covered(
        f'<iframe style="{COVER};width:100%;height:100%;border:0;background:#fff" '
        "srcdoc='<body style=background:#eee>'></iframe>"
    ),
    "covered by a generated box": "<style>.gg{{position:relative;width:600px}}.gg::after{{"
    "content:'';position:absolute;inset:0;background:#eee;pointer-events:none}}</style>"
    "<div class=gg>{it}</div>",
    "under other text": _covered(
        f'<div style="{COVER};background:#fff;padding:9px 0">Other words in the same place</div>'
    ),
    "white under other text": (
        '<div style="position:relative;color:white">{it}<div style="position:absolute;'
        'inset:0;color:black;padding:14px 0">Other words in the same place of the page</div></div>'
    ),
    "shadow of another text": (
        '<div style="position:relative;color:white"><div style="position:absolute;left:0;top:-60px;'
        'filter:drop-shadow(0 60px 0 black);color:black">Other words that throw a shadow</div>'
        "{it}</div>"
    ),
    "reflection of another text": (
        '<div style="color:white;position:relative;padding-top:30px"><div style="position:absolute;'
        'top:0;color:black;-webkit-box-reflect:below 9px">Other words reflected</div>{it}</div>'
    ),
    "back of a card": _style("perspective:500px").replace(
        "{it}",
        '<div style="transform-style:preserve-3d;transform:rotateY(180deg)">'
        '<div style="backface-visibility:hidden">{it}</div></div>',
    ),
    "turned on its edge": _style("transform:rotateX(89.9deg)"),
    "behind the viewer": _style("transform:perspective(9px) translateZ(50px)"),
    "tiny by scale": _style("transform:scale(.15);transform-origin:0 0"),
    "tiny by zoom": _style("zoom:.2"),
    "low contrast": _style("color:#f8f8f8;background:#fff"),
    "low contrast on a colour": _style("color:#2a6fd0;background:#2a70d4"),
    "low alpha": _style("color:rgba(0,0,0,.04)"),
    "colour mix": _style("color:color-mix(in srgb,#000 2%,white)"),
    "light-dark": _style("color:light-dark(#fefefe,#000)"),
    "system colour": _style("color:Canvas;background:Canvas"),
    "animation that holds": "<style>@keyframes gone{{to{{color:#fff}}}}</style>"
    '<div style="animation:gone 1ms forwards">{it}</div>',
    "transition that has ended": '<div style="color:#fff;transition:color 1ms">{it}</div>',
    "decorated in red": '<div style="color:#fff;text-decoration:line-through 9px red">{it}</div>',
    "emphasis marks": '<div style="color:#fff;text-emphasis:dot red">{it}</div>',
    "painted in white": _style(
        "background:linear-gradient(#fff,#fefefe);-webkit-background-clip:text;color:transparent"
    ),
    "first letter only": "<style>.ff *::first-letter{{color:#000}}</style>"
    '<div class=ff style="color:#fff">{it}</div>',
    "iframe with opacity": "<iframe style='opacity:0;width:600px;height:80px' "
    "srcdoc='{framed}'></iframe>",
    "iframe under a cover": _covered(f'<div style="{COVER};background:#eee"></div>').replace(
        "{it}", "<iframe style='width:500px;height:80px' srcdoc='{framed}'></iframe>"
    ),
    "iframe masked": "<iframe style='mask:linear-gradient(#0000,#0000);width:600px;height:80px' "
    "srcdoc='{framed}'></iframe>",
    "iframe white on white": "<iframe style='width:600px;height:80px' "
    "srcdoc='<body style=color:#fff>{framed}'></iframe>",
    "shadow root": '<div><template shadowrootmode="open"><style>*{{color:#fff}}</style>{it}'
    "</template></div>",
    "popover that is closed": "<div popover>{it}</div>",
    "scroller under a cover": _covered(f'<div style="{COVER};background:#eee"></div>').replace(
        "{it}", '<div style="overflow:auto;height:50px">{it}<p>x<p>y<p>z</div>'
    ),
}
_ONE = ("paragraph",)
_LIMITED = {
    "ellipsis": (),
    "line clamp of nothing": ("paragraph", "link"),
    "tiny by zoom": ("paragraph", "link"),
    "first letter only": ("paragraph",),
    "light-dark": ("paragraph",),
    "system colour": ("paragraph",),
}
_SVG = '<svg width="600" height="40"{a}><text y="20" {b}>{{word}}</text>{c}</svg>'
_CLAMPED = (
    "Words that are shown in the first line of this box. And more that follows in later lines, "
    "which are not shown at all, because the box is not high enough: {word}"
)
OTHERS = {
    "ellipsis": '<p style="width:150px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis">'
    "Shown words, and then those that are not: {word}</p>",
    "ellipsis of a link": '<p style="width:150px;white-space:nowrap;overflow:hidden;'
    'text-overflow:ellipsis">Shown words, and then <a href="/x">a link: {word}</a></p>',
    "clipped without ellipsis": '<p style="width:150px;white-space:nowrap;overflow:hidden">'
    "Shown words, and then those that are not: {word}</p>",
    "line clamp": '<p style="width:300px;display:-webkit-box;-webkit-line-clamp:1;'
    f'-webkit-box-orient:vertical;overflow:hidden">{_CLAMPED}</p>',
    "height of a line": f'<p style="width:300px;height:1.2em;overflow:hidden">{_CLAMPED}</p>',
    "part of a sentence": '<p>Words <span style="color:#fff">{word}</span> and words</p>',
    "part under a badge": '<p style="position:relative">Words <span>{word}</span><i style="'
    'position:absolute;left:50px;right:0;top:0;bottom:0;background:#eee"></i></p>',
    "svg white on a picture": _SVG.format(a="", b='fill="#fff"', c="").replace(
        "<text", f'<image width="600" height="40" preserveAspectRatio="none" href="{WHITE}"/><text'
    ),
    "svg text under a shape": _SVG.format(
        a="", b="", c='<rect width="600" height="40" fill="#eee"/>'
    ),
    "svg text in a mask": _SVG.format(a="", b='mask="url(#m2)"', c='<mask id="m2"/>'),
    "svg text without size": _SVG.format(a="", b='font-size="0.5"', c=""),
    "svg text outside of the view box": _SVG.format(a=' viewBox="900 900 9 9"', b="", c=""),
    "svg of no size": '<svg width="0"><text y="20">{word}</text></svg>',
    "svg of no height": '<svg height="0"><text y="20">{word}</text></svg>',
    "svg with stroke of the background": _SVG.format(
        a="", b='stroke="#fff" stroke-width="20"', c=""
    ),
    "svg gradient of white": _SVG.format(
        a="",
        b='fill="url(#w0)"',
        c='<linearGradient id="w0"><stop stop-color="#fff"/></linearGradient>',
    ),
    "svg group of opacity 0": '<svg width="600" height="40"><g opacity="0"><text y="20">{word}'
    "</text></g></svg>",
    "transparent value": '<input value="{word}" style="color:transparent">',
    "white value": '<input value="{word}" style="color:#fff">',
    "value indented away": '<input value="{word}" style="text-indent:-900px">',
    "value under a cover": _covered(
        f'<div style="{COVER};background:#eee;pointer-events:none"></div>'
    ).replace("{it}", '<input value="{word}">'),
    "value of a button": '<input type="button" value="{word}" style="color:transparent">',
    "value of a masked field": '<input value="{word}" style="mask:linear-gradient(#0000,#0000)">',
    "transparent placeholder": "<style>.tp::placeholder{{color:transparent}}</style>"
    '<input class=tp placeholder="{word}">',
    "white text area": '<textarea style="color:#fff">{word}</textarea>',
    "text area without size of text": '<textarea style="font-size:0">{word}</textarea>',
    "transparent select": '<select style="color:transparent"><option>{word}</select>',
    "white button": '<button style="color:#fff;background:#fff">{word}</button>',
    "read-only field": '<input readonly value="{word}" style="color:#fff;border:0">',
    "date of a field": '<input type="search" value="{word}" style="opacity:.03">',
    "button text under an icon": '<button style="position:relative;width:90px;overflow:hidden">'
    f'{{word}}<img src="{_flat("gold")}" style="{COVER};width:100%;height:100%"></button>',
    "label under its field": '<label style="position:relative;display:block;width:300px">{word}'
    f'<span style="{COVER};background:#fff"></span></label>',
    "empty canvas cover": _covered(
        f'<canvas style="{COVER};width:100%;height:100%;background:white"></canvas>'
    ).replace("{it}", "<p>{word}</p>"),
    "covered video": _covered(
        f'<video style="{COVER};width:100%;height:100%;background:#000"></video>'
    ).replace("{it}", "<p>{word}</p>"),
    "legend": '<fieldset><legend style="color:#fff">{word}</legend>x</fieldset>',
    "caption": '<table style="color:#fff"><caption>{word}</caption><tr><td>x</table>',
    "summary": '<details><summary style="color:#fff">{word}</summary>x</details>',
    "ruby": "<ruby>x<rt style='color:#fff'>{word}</rt></ruby>",
    "right to left": '<p dir=rtl style="color:#fff">{word}</p>',
    "vertical": '<p style="color:#fff;writing-mode:vertical-rl">{word}</p>',
    "columns": '<p style="columns:2;height:3px;overflow:hidden">{word}</p>',
    "marquee": '<marquee style="color:#fff">{word}</marquee>',
    "definition": '<dl><dt>x<dd style="color:#fff">{word}</dl>',
    "selected white": '<p style="color:#fff" class=sel>{word}</p>',
    "flex item without room": '<div style="display:flex;width:90px;overflow:hidden"><p style="'
    'flex:0 0 200px">x</p><p>{word}</p></div>',
    "grid item without room": '<div style="display:grid;grid-template-rows:0fr;height:0">'
    '<p style="overflow:hidden;margin:0;min-height:0">{word}</p></div>',
    "carousel slide": '<div style="overflow:hidden;width:200px"><div style="display:flex;width:400px">'
    '<p style="width:200px">x</p><p style="width:200px">{word}</p></div></div>',
}


def _multiply() -> dict[str, str]:
    found = {}
    for name, technique in TECHNIQUES.items():
        if name == "ellipsis":
            continue
        carriers = _LIMITED.get(name, ("paragraph", "link", "cell"))
        if name in (
            "shadow of another text",
            "reflection of another text",
            "white under other text",
        ):
            carriers = _ONE
        for carrier in carriers:
            html = CARRIERS[carrier]
            framed = html.replace("'", "").replace('"', "")
            found[f"{name} {carrier}"] = technique.replace("{it}", html).replace("{framed}", framed)
    return found | OTHERS


TRICKS = _multiply()

_LINES = "<p>a line of text</p>" * 30
_PHOTO = _picture(
    '<rect width="9" height="9" fill="#357"/><circle cx="4" cy="5" r="3" fill="#c93"/>'
)

HONEST = {
    "plain": "<p>{word}</p>",
    "in a sentence": "<p>Some words, <b>{word}</b>, and more.</p>",
    "heading": "<h1>{word}</h1>",
    "large": '<p style="font-size:150px;margin:0">{word}</p>',
    "light and large": '<p style="font:100 60px sans-serif">{word}</p>',
    "bold": '<p style="font-weight:900">{word}</p>',
    "italic": "<p><i>{word}</i></p>",
    "small print of 9 pixels": '<p style="font-size:9px;color:#777">{word}</p>',
    "7 pixels": '<p style="font-size:7px">{word}</p>',
    "grey": '<p style="color:#999">{word}</p>',
    "light grey": '<p style="color:#bbb">{word}</p>',
    "lighter grey of 12 pixels": '<p style="color:#ccc;font-size:12px">{word}</p>',
    "yellow": '<p style="color:#fd0">{word}</p>',
    "disabled": "<button disabled>{word}</button>",
    "dark mode": '<p style="background:#111;color:#ccc">{word}</p>',
    "dim in dark mode": '<p style="background:#111;color:#666">{word}</p>',
    "scheme": '<div style="color-scheme:dark;background:Canvas;color:CanvasText">{word}</div>',
    "colour by hue only": '<p style="background:#888;color:#b22">{word}</p>',
    "serif with ligatures": '<p style="font-family:serif">fi ffi {word}</p>',
    "monospace": "<pre>{word}</pre>",
    "code block": "<pre><code><span>def</span> <span style='color:#070'>{word}</span>():\n  x</code></pre>",
    "block of long lines": '<pre style="overflow:auto;width:200px">' + "x" * 60 + " {word}</pre>",
    "table": "<table border=1><tr><th>a<td>{word}<tr><td>b<td>c</table>",
    "table of many rows": '<div style="height:60px;overflow:auto"><table>'
    + "<tr><td>row" * 30
    + "<tr><td>{word}</table></div>",
    "sticky header of a table": '<div style="height:90px;overflow:auto"><table><thead style="'
    'position:sticky;top:0;background:#fff"><tr><th>head</thead>'
    + "<tr><td>row" * 20
    + "<tr><td>{word}"
    + "<tr><td>row" * 20
    + "</table></div>",
    "scroll box": f'<div style="height:60px;overflow:auto">{_LINES}<p>{{word}}</p></div>',
    "scroll box in a scroll box": f'<div style="height:80px;overflow:auto">{_LINES}<div style="'
    f'height:50px;overflow:auto">{_LINES}<p>{{word}}</p></div></div>',
    "sideways": '<div style="display:flex;overflow-x:auto;width:200px">'
    + '<p style="flex:0 0 150px">slide</p>' * 5
    + '<p style="flex:0 0 150px">{word}</p></div>',
    "carousel that snaps": '<div style="display:flex;overflow-x:scroll;width:200px;'
    'scroll-snap-type:x mandatory;scroll-behavior:smooth">'
    + '<p style="flex:0 0 200px;scroll-snap-align:start">slide</p>' * 3
    + '<p style="flex:0 0 300px;scroll-snap-align:start">{word}</p></div>',
    "right to left scroll box": '<div dir=rtl style="overflow:auto;width:200px"><pre>'
    + "x" * 60
    + " {word}</pre></div>",
    "list": "<ul><li>one<li>{word}</ul>",
    "definitions": "<dl><dt>a<dd>{word}</dl>",
    "open details": "<details open><summary>x</summary><p>{word}</p></details>",
    "summary": "<details><summary>{word}</summary>x</details>",
    "background picture": f'<p style="background:url({_PHOTO});color:#fff">{{word}}</p>',
    "over a picture": f'<div style="position:relative"><img src="{_PHOTO}" width="300" height="60">'
    '<p style="position:absolute;left:5px;top:5px;color:#fff;margin:0">{word}</p></div>',
    "caption with a shadow": '<p style="background:#ddd;color:#fff;text-shadow:0 0 3px #000">{word}</p>',
    "drawn by its shadow": '<p style="color:transparent;text-shadow:0 0 0 #333">{word}</p>',
    "gradient": '<p style="background:linear-gradient(90deg,#024,#48c);color:#fff">{word}</p>',
    "painted with a gradient": '<h2 style="background:linear-gradient(90deg,#f06,#06f);'
    '-webkit-background-clip:text;-webkit-text-fill-color:transparent"><span>{word}</span></h2>',
    "outlined": '<p style="-webkit-text-stroke:1px #333;color:#fff;font-size:30px">{word}</p>',
    "underlined link": '<a href="/x">{word}</a>',
    "link with a coloured line": '<a href="/x" style="text-decoration-color:red">{word}</a>',
    "marked": "<p><mark>{word}</mark></p>",
    "deleted": "<p><del>{word}</del></p>",
    "button": "<button>{word}</button>",
    "round button": '<button style="border-radius:99px;background:#06c;color:#fff;border:0">{word}</button>',
    "button of an input": '<input type="submit" value="{word}">',
    "value": '<input value="{word}">',
    "long value": '<input size="5" value="{word} and much more than fits">',
    "placeholder": '<input placeholder="{word}">',
    "text area": "<textarea rows=1>{word}\n" + "line\n" * 20 + "</textarea>",
    "select": "<select><option>{word}<option>b</select>",
    "other option": "<select><option>a<option>{word}</select>",
    "list of options": "<select multiple><option>a<option>{word}</select>",
    "label": "<label>{word} <input type=checkbox></label>",
    "legend": "<fieldset><legend>{word}</legend>x</fieldset>",
    "svg": '<svg width="500" height="30"><text y="20">{word}</text></svg>',
    "svg of parts": '<svg width="500" height="30"><text y="20" fill="#555"><tspan>a</tspan>'
    '<tspan fill="#c00">{word}</tspan></text></svg>',
    "turned axis of a chart": '<svg width="60" height="300"><text transform="rotate(-90)" x="-290" '
    'y="20" font-size="10">{word}</text></svg>',
    "foreign object": '<svg width="500" height="40"><foreignObject width="500" height="40"><p>{word}'
    "</p></foreignObject></svg>",
    "frame": "<iframe srcdoc='<p>{word}'></iframe>",
    "frame that scrolls": f"<iframe height=80 srcdoc='{_LINES}<p>{{word}}'></iframe>",
    "frame in a frame": "<iframe srcdoc=\"<iframe width=250 height=90 srcdoc='<p>{word}'></iframe>\"></iframe>",
    "frame that is scaled": "<iframe style='transform:scale(.7);transform-origin:0 0' "
    "srcdoc='<p>{word}'></iframe>",
    "frame in a scroll box": f'<div style="height:90px;overflow:auto">{_LINES}'
    "<iframe srcdoc='<p>{word}'></iframe></div>",
    "shadow root": '<div><template shadowrootmode="open"><p>{word}</p></template></div>',
    "slot": '<div><template shadowrootmode="open"><b><slot></slot></b></template>{word}</div>',
    "ellipsis of what follows": '<p style="width:400px;white-space:nowrap;overflow:hidden;'
    'text-overflow:ellipsis">{word} and what follows is too long for the line of this box</p>',
    "first lines of a clamp": '<p style="width:400px;display:-webkit-box;-webkit-line-clamp:2;'
    '-webkit-box-orient:vertical;overflow:hidden">{word} and what follows is too long for the lines '
    "of this box, which has only two lines, and the third line is not shown at all by it.</p>",
    "half transparent": '<p style="opacity:.4">{word}</p>',
    "under glass": '<div style="position:relative"><p>{word}</p><div style="position:absolute;inset:0;'
    'background:rgba(255,255,255,.4)"></div></div>',
    "turned": '<p style="transform:rotate(-8deg);width:300px">{word}</p>',
    "mirrored": '<p style="transform:scaleX(-1);width:300px">{word}</p>',
    "vertical": '<p style="writing-mode:vertical-rl">{word}</p>',
    "right to left": "<p dir=rtl>\u05e9\u05dc\u05d5\u05dd {word}</p>",
    "columns": '<div style="columns:3;width:900px">'
    + "<p>some words of a column</p>" * 5
    + "<p>{word}</p></div>",
    "tight lines": '<div style="line-height:1"><div>gjpqy</div><div>{word}</div><div>gjpqy</div></div>',
    "overlapping lines": '<div style="line-height:.8"><div>gjpqy</div><div>{word}</div></div>',
    "grayscale": '<div style="filter:grayscale(1)"><p style="color:#c00">{word}</p></div>',
    "shadow of a card": '<div style="filter:drop-shadow(0 2px 4px #999);background:#fff">{word}</div>',
    "blended": '<p style="mix-blend-mode:multiply;color:#333">{word}</p>',
    "pulsing": "<style>@keyframes pulse{{from{{opacity:.5}}to{{opacity:1}}}}</style>"
    '<p style="animation:pulse .3s infinite alternate">{word}</p>',
    "moving": "<style>@keyframes go{{from{{transform:none}}to{{transform:translateX(90px)}}}}</style>"
    '<p style="animation:go 1s infinite alternate">{word}</p>',
    "counter of a script": '<p>{word} <span class="tick">0</span></p><script>'
    "setInterval(() => document.querySelectorAll('.tick').forEach(e => e.textContent++), 5)</script>",
    "over an animation": "<style>@keyframes hue{{from{{background:#fdd}}to{{background:#ddf}}}}</style>"
    '<p style="animation:hue .2s infinite alternate">{word}</p>',
    "over a canvas that moves": '<div style="position:relative;width:400px;height:40px"><canvas class="cv"'
    ' width="400" height="40" style="position:absolute;left:0;top:0"></canvas><b style="position:'
    'relative">{word}</b></div><script>setInterval(() => {{ for (const c of document.querySelectorAll('
    "'.cv')) {{ const g = c.getContext('2d'); g.fillStyle = `hsl(${{Date.now() % 360}} 90% 80%)`;"
    " g.fillRect(0, 0, 400, 40); }} }}, 5)</script>",
    "drawn late": '<div style="content-visibility:auto"><p>{word}</p></div>',
    "print only border": "<style>@media print{{.pr{{display:none}}}}</style><p class=pr>{word}</p>",
    "popover that is open": "<div popover=manual class=po>{word}</div><script>"
    "document.querySelector('.po').showPopover()</script>",
    "toast": '<div style="position:fixed;right:9px;bottom:9px;background:#333;color:#fff">{word}</div>',
    "header that stays": '<div style="position:sticky;top:0;background:#fff">{word}</div>',
    "letters apart": '<p style="letter-spacing:.3em">{word}</p>',
    "capitals": '<p style="font-variant:small-caps">{word}</p>',
    "raised": "<p>x<sup>{word}</sup></p>",
    "ruby": "<ruby>x<rt>{word}</rt></ruby>",
    "editable": "<p contenteditable>{word}</p>",
    "selected": "<p class=sel>{word}</p><script>"
    "getSelection().selectAllChildren(document.querySelector('.sel'))</script>",
    "first letter": "<style>.fl::first-letter{{font-size:40px;float:left}}</style><p class=fl>{word}</p>",
    "highlight of the page": "<p class=hi>{word}</p><style>::highlight(own){{background:yellow}}</style>"
    "<script>{{ const r = new Range(); r.selectNodeContents(document.querySelector('.hi'));"
    "CSS.highlights.set('own', new Highlight(r)); }}</script>",
    "broken picture": '<img src="data:,x" alt="{word}" width="600" height="30">',
    "absolute": '<div style="position:relative;height:30px"><p style="position:absolute;margin:0">{word}</p></div>',
    "layer below": '<div style="position:relative;z-index:0"><p style="position:relative;z-index:-1">{word}</p></div>',
    "opaque mask": '<p style="mask-image:linear-gradient(#000,#0003)">{word}</p>',
    "badge": '<p><span style="background:#c00;color:#fff;border-radius:9px;padding:0 5px;font-size:10px">{word}</span></p>',
}
# Words of other alphabets, and symbols.
SCRIPTS = {
    "Chinese": "汉字漢字仮名交じり文の長い文章はここで終わりではなく続きます",
    "one": "一二三",
    "Korean": "한국어 문장입니다",
    "Hebrew": "שלום עולם",
    "Arabic": "مرحبا بالعالم",
    "Thai": "สวัสดีชาวโลก",
    "Hindi": "नमस्ते दुनिया",
    "emoji": "😀 🇩🇪 ✅ 👩‍👩‍👧",
    "Greek": "Γειά σου",
    "numbers": "1 2 3 1,234.56 € – 7 % … | • → ≤ . , : ; - ' l i",
}
