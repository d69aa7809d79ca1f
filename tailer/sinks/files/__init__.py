"""Rolling data files, numbered without gaps, and beside each an index that says what is in it and where it ends."""
