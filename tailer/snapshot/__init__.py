"""A table as a server has it, read range by range of its ring: rows with the time of each cell, as far as it tells.

    ring --plan--> ranges --read--> pieces of whole partitions --row reader--> rows as facts

Asks a server; knows no log and no state that rows go into.
"""
