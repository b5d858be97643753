"""Results of every kind, with their pictures beside them."""
