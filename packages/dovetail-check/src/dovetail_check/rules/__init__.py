"""The rules, by page of the specification."""
