"""The probes, by page of the specification."""
