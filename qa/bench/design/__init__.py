"""The design server, beside the same drawing done directly in the graphics library."""
