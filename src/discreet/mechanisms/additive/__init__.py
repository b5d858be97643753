"""Noise that is added to sums and counts on a lattice."""
