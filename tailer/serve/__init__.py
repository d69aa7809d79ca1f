"""`cdc-tail serve`: a node's log and its state for readers elsewhere, by the requests of `tailer/wire/`."""
