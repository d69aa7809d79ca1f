"""Native logs: what a reader makes of records that a test encoded by hand."""
