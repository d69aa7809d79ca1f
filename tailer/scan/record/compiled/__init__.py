"""The compiled form of the scan of records."""
