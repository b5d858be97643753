"""Private additive models: a sum of one released curve per feature, which is its own explanation."""
