"""Friedman's H: which features interact."""
