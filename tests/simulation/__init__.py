"""Runs the product in a simulated environment, in which a seed chooses every interleaving and every fault."""
