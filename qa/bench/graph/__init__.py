"""The memory server at work, beside the reference memory server of npm, in the same run."""
