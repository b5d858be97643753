"""What two features do together: which pairs, what is asked of them, and how they join the fit."""
