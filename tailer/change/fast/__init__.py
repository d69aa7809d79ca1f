"""The compiled twin of `tailer.change.build`: the same change rows, held as arrays.

Everything here is imported only once the compiled build is wanted.
"""
