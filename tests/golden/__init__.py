"""Genuine recordings against the rows that follow from the server's own view of them."""
