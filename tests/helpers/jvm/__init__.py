"""Java programs for tests: a JDK, jars that Maven brings once, programs that end with whoever started them."""
