"""Who may come in, and what they may see: keys, roles, audiences."""
