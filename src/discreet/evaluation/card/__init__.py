"""All there is to tell about a model, under one budget."""
