"""How good a classifier of many classes is."""
