"""Choices of pairs of columns: by counts of both, by residuals, for a tree or beside one."""
