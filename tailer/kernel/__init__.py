"""The compiled twins of `format.scan.scan` and `format.entry.scan_entries`, and the choice between the two of each.

Everything but `choice` is imported only once the kernel is wanted: numba comes with it.
"""
