"""What the studio ships with: shapes, icons, pictures, templates, presets and advice on fonts.

Everything is found by words and comes back as plain values for add_element. Nothing here draws,
and nothing here imports a graphics library. Import the module that you need: `shapes`, `icons`,
`pictures`, `presets`, `font_catalogue`, `templates`.
"""
