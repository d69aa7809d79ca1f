"""What is compiled of reading a snapshot."""
