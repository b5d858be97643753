"""How good a model is on the records, and for whom: evaluations and fairness."""
