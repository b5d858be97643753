"""Mechanisms that choose: one of several candidates, the first k, an order, a quantile."""
