"""Permutation importance."""
