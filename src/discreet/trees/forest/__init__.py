"""Private forests."""
