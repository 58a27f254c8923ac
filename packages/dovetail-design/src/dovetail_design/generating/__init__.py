"""Rule-based generation: designs from a prompt (`composing`), edits from a message (`advising`),
other sizes (`resizing`). The first two check their results, so they load the graphics library.
"""
