"""Choosing one of several candidates."""
