"""What the compiled scans of both payloads share."""
