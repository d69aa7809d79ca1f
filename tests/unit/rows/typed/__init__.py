"""The typed form, held against the server's own view and against its plain twin."""
