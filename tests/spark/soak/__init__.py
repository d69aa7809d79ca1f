"""Streams that are killed again and again while a server writes: each row arrives, once."""
