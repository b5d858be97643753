"""Evaluating answers that speak of one class."""
