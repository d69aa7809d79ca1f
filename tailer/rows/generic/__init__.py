"""The generic form: one row a change, values as JSON."""
