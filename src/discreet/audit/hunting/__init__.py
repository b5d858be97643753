"""Neighbouring tables that move a sum farther than its certificate says, and the search for them."""
