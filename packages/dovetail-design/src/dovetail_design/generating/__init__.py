"""Designs and changes by rules: from a prompt (`composing`), from a message (`advising`), to
another size (`resizing`). The first two look at what they make, so they load the graphics library.
"""
