"""Payload -> index of rows and cells. Knows the formats and no output. Pure."""
