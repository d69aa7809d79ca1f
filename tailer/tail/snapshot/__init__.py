"""Tables read from their servers, while the logs of all nodes are followed: into a state of images, or into a spool.

    all nodes stand --settle--> ranges --readers--> pieces --merge--> facts, a floor, and how far the snapshot is

Later single rows are read again, of which the log alone cannot tell what became of them. Knows no sink.
"""
