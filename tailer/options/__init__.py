"""Every option once, for the terminal, Spark and Python."""
