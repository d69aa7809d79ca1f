"""A log that another node serves: its segments, and its state, asked for by HTTP."""
