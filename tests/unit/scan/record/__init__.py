"""The scan of a native log's entries, plain and compiled, and what becomes of their rows."""
