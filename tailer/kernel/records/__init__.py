"""The compiled twin of `format.native`: the scan of a native log's entries."""
