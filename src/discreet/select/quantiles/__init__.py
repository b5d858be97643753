"""Percentiles and quantiles."""
