"""Counts of cells, and of ranges."""
