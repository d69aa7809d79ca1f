"""Images of one run: the rows of its nodes go into one state, and from its outbox to where they are wanted."""
