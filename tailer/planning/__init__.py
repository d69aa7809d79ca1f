"""What may be read now, and the tasks of it."""
