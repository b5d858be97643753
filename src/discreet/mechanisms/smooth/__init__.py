"""Selection by local or smooth sensitivity."""
