"""Images printed by compiled code."""
