"""Synthetic and deniable records."""
