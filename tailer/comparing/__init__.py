"""Whether what images know of a table is what its server says now.

    state of images --known--> partitions --differences--> those that differ --looks--> those that differ for good
    server          --served-> partitions --/

Reads both, writes neither. Values are compared as bytes, and as JSON where these differ.
"""
