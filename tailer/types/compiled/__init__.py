"""Values of CQL types as JSON text, compiled: the same text as their `json` in `tailer.types`, written into a buffer.

Where nothing is compiled the plain functions do the work. Whatever these kernels do not print (numbers of any length,
bytes that are no value of their type) they leave to the plain ones, which know the reason too.
"""
