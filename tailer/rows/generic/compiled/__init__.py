"""The compiled twin of `generic.build`: the same change rows, held as arrays.

Everything here is imported only once the compiled build is wanted.
"""
