"""Attacks on releases, each beside the ceiling that its promise implies."""
