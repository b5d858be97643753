"""Planted faults: mechanisms that are not private, each with the check that catches it."""
