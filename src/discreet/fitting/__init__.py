"""All private models in one line: which one is trained, and why."""
