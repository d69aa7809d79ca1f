"""Crashes on purpose: a disk in memory that forgets, a reader that is not the tailer, workloads between them."""
