"""Embedded content: shapes, icons, pictures, templates, presets and advice on fonts.

Searches return plain values for add_element. Nothing here draws or imports a graphics library.
Import the module that you need: `shapes`, `icons`, `pictures`, `presets`, `font_catalogue`,
`templates`. The content itself is in `data` (JSON and SVG files).
"""
