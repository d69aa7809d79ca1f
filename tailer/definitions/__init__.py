"""Definitions by position: learnt from the log, given by a file or a server."""
