"""An outlet that appends to a Delta table through delta-rs, without a JVM."""
