"""Drift: how far the table of today is from a histogram that was released before."""
