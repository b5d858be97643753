"""Compiled loops that engines share."""
