"""A plain model of Cassandra's replicas and of what a reader of their logs can know, to hold images to."""
