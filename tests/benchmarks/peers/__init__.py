"""Debezium's connector, Cassandra's own reader and `cdc-tail`, side by side on one live server."""
