"""What an archive holds of a log: manifests, and its segments as a reader takes them."""
