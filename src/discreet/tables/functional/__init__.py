"""Mean curves of records."""
