"""What a table is, and who says so: the log's own changes, a CQL file, a live server."""
