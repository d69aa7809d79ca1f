"""The compiled twins of `format.scan`, `format.chain` and `format.entry`, and the choice between the two of each.

Everything but `choice` is imported only once the kernel is wanted: LLVM comes with it.
"""
