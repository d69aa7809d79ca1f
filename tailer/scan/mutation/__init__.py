"""Cassandra's payload, the mutation (format page, section 5)."""
