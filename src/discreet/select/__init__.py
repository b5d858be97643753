"""Plans that choose: one of several candidates, the most frequent value, quantiles."""
