"""The compiled form of the checks: markers, entries, CRCs."""
