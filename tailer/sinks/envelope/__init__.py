"""Change rows as messages: a key, a value and headers each, in the forms that other programs read. Pure.

Batches in, columns of bytes out: no clock, no connection, no file. What sends them is an outlet's.
"""
