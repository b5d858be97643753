"""Plain statistics of a table: counts, sums, means, moments, distributions."""
