"""Compares every template as SVG, PDF and PPTX with its PNG, drawn by the programs that read them.

usage: python -m tests.deep.design.compare_formats [TEMPLATE...]

Chromium draws the SVG without the bundled fonts. poppler draws the PDF and reads its text.
LibreOffice draws the slides with the bundled fonts, as an editor that has them would. Programs that
are not installed are left out. Each column has the similarity (SSIM) and the mean difference of a
colour channel (0 to 255).
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import PIL.Image

from dovetail_design.fonts.bundled import bundled_faces
from dovetail_design.library.templates import Template, list_templates
from dovetail_design.model import Text
from dovetail_design.rendering import render_pdf, render_png, render_pptx, render_svg
from dovetail_design.rendering.text_blocks import apply_transform
from tests.deep.design.pictures import colour_distance, similarity

WIDTH = 600
_FONTS = """<?xml version="1.0"?><fontconfig><dir>{}</dir><cachedir>{}</cachedir></fontconfig>"""


def _run(*words: str, **env: str) -> str:
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **env}
    )
    return done.stdout


def draw_svg(template: Template, folder: Path) -> Path:
    """Return a screenshot of the SVG in Chromium."""
    (folder / "a.svg").write_bytes(render_svg(template.design()))
    page = '<body style="margin:0"><img src="a.svg" style="display:block">'
    (folder / "a.html").write_text(page)
    _run(
        "chromium",
        *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
        f"--user-data-dir={folder}/profile",
        f"--window-size={template.width},{template.height}",
        f"--screenshot={folder}/svg.png",
        f"file://{folder}/a.html",
    )
    return folder / "svg.png"


def draw_pdf(template: Template, folder: Path) -> Path:
    """Return the PDF, drawn by poppler."""
    (folder / "a.pdf").write_bytes(render_pdf(template.design()))
    _run("pdftoppm", "-r", "96", "-png", "-singlefile", f"{folder}/a.pdf", f"{folder}/pdf")
    return folder / "pdf.png"


def draw_pptx(template: Template, folder: Path) -> Path:
    """Return the slide, drawn by LibreOffice."""
    (folder / "b.pptx").write_bytes(render_pptx(template.design()))
    # A copy, because fontconfig writes into the folders that it reads.
    shutil.copytree(bundled_faces()[0].path.parent, folder / "fonts")
    (folder / "fonts.conf").write_text(_FONTS.format(folder / "fonts", folder / "cache"))
    words = ("soffice", f"-env:UserInstallation=file://{folder}/office", "--headless")
    env = {"FONTCONFIG_FILE": f"{folder}/fonts.conf"}
    _run(*words, "--convert-to", "pdf", "--outdir", str(folder), f"{folder}/b.pptx", **env)
    _run("pdftoppm", "-r", "96", "-png", "-singlefile", f"{folder}/b.pdf", f"{folder}/pptx")
    return folder / "pptx.png"


DRAWERS: dict[str, tuple[str, Callable[[Template, Path], Path]]] = {
    "svg": ("chromium", draw_svg),
    "pdf": ("pdftoppm", draw_pdf),
    "pptx": ("soffice", draw_pptx),
}


def lost_words(template: Template, folder: Path) -> list[str]:
    """Return the words of a template that pdftotext does not find in its PDF."""
    said = "".join(_run("pdftotext", "-layout", f"{folder}/a.pdf", "-").split())
    texts = [one for one in template.design().elements if isinstance(one, Text)]
    words = [word for one in texts for word in apply_transform(one.text, one.textTransform).split()]
    return [word for word in words if word not in said]


def _scaled(data: bytes, height: int) -> bytes:
    stream = io.BytesIO()
    picture = PIL.Image.open(io.BytesIO(data)).convert("RGB")
    picture.resize((WIDTH, height), PIL.Image.Resampling.LANCZOS).save(stream, "PNG")
    return stream.getvalue()


def compare(template: Template) -> str:
    """Return a row of the table."""
    height = round(WIDTH * template.height / template.width)
    expected = _scaled(render_png(template.design()), height)
    cells = [template.id]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for program, draw in DRAWERS.values():
            drawn = draw(template, folder) if shutil.which(program) else folder / "none"
            if not drawn.exists():
                cells.append("-")
                continue
            picture = _scaled(drawn.read_bytes(), height)
            alike = similarity(expected, picture)
            cells.append(f"{alike:.3f}, {colour_distance(expected, picture):.1f}")
        cells.append(" ".join(lost_words(template, folder)) or "none")
        cells.append("yes" if "Type 3" in _run("pdffonts", f"{folder}/a.pdf") else "no")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    head = "| template | SVG | PDF | PPTX | words lost in the PDF | Type 3 fonts |"
    sys.stdout.write(f"{head}\n|---|---|---|---|---|---|\n")
    for template in list_templates():
        if len(sys.argv) == 1 or template.id in sys.argv[1:]:
            sys.stdout.write(f"{compare(template)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
