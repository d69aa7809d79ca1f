"""Damaged logs: any bytes at all give rows, "not yet", or one documented error."""
