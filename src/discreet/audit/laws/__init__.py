"""Laws that can be computed: the true privacy loss of a mechanism over pairs of neighbours."""
