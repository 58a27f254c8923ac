"""How well the search mode for large tool sets finds tools."""
