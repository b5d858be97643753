"""One private decision tree."""
