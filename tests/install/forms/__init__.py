"""Every persistent form: how today's code writes it, how it reads it, and the digest of its bytes."""
