"""A service that is killed and recovers; the recording of a server and its replay."""
