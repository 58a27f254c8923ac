"""Layouts from templates: which template suits a task (`choosing`), other colours (`recolouring`),
other sizes (`resizing`), text that fits and can be read (`autofix`).
"""
