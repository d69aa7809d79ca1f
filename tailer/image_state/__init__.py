"""The state of images on disk: one LMDB file that a process has for itself, and what stands in it beside the facts.

Rows that were merged, the place behind them and the images that came of it become durable in one transaction. Knows no
fact, no log and nobody that images go to.
"""
