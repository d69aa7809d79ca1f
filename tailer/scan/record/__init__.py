"""Records of a native log to the same index that Cassandra's mutations give. Pure; knows no output."""
