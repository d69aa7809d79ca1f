"""A task -> rows. Stateless: the same task gives the same rows."""
