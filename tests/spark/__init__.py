"""The Spark side: the planner as Spark calls it, and real sessions (marker `spark`)."""
