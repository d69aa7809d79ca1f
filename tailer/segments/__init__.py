"""The log folder on disk: what lies in it, reading its bytes, waking up."""
