"""A report on a model, all of it under one budget."""
