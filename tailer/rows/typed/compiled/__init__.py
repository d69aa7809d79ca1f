"""The compiled build of the typed form."""
