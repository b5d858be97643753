"""Shapley values of training rows, and utilities to measure them by; nothing here is private."""
