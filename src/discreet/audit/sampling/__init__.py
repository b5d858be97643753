"""Lower bounds on a privacy loss from samples of any mechanism."""
