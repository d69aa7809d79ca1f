"""What a node shows of itself on `--status-listen`: a page, its events, metrics, health. Shows no row data."""
