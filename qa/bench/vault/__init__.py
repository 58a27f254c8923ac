"""The notes server at work: searching, indexing, memory, beside ripgrep and a scan of all files."""
