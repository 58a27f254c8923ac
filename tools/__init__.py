"""Scripts that make calls; run them from the top folder as `python -m tools.<name>`."""
