"""What `cdc-tail serve` and its readers say to each other: addresses and shapes, with no network and no file."""
