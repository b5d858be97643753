"""Shapley values of predictions: rankings, values, importances, dependence."""
