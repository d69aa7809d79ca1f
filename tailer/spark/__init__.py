"""The data source, the sinks of `stream`, current state, images and Delta."""
