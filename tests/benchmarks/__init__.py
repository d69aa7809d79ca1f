"""Benchmarks: scripts that answer one stated question each, and print JSON. See README.md."""
