"""Two models on the same records: how much better one is, and where they part."""
