"""Retention: what consumers hold back, what `clean` takes away, and that it may be killed anywhere."""
