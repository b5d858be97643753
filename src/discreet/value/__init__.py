"""Data valuation: Shapley values of training rows, and utilities to measure them by."""
