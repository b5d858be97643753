"""How far one record moves Shapley values and their sums."""
