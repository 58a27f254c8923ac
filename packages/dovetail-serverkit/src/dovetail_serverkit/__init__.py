"""Code that the ready-made servers share. It uses only the public API of dovetail."""
