"""Measurements, each a module: ``python -m benchmarks.<name> [--quick]``."""
