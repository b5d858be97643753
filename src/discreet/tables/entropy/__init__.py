"""Entropies and mutual information."""
