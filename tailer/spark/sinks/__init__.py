"""Where `cdc-tail stream` puts rows. Each sink takes a micro-batch exactly once, by its id or by key."""
