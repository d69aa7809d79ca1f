"""The merge of a batch, compiled: from the cells of the log straight to the bytes of the state and encoded images.

    cells of a batch --keys--> keys of partitions and rows --LMDB--> stored rows --merge--> rows to keep, and images

Held to `images.Merger`, which does whatever is rare: the same state and the same images, byte by byte.
"""
