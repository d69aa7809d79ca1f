"""The compiled form of the scan of mutations."""
