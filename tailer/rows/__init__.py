"""Index -> change rows. Knows the output and no format."""
