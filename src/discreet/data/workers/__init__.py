"""Rows on several workers: each adds up its own, and ids of persons are told apart among them."""
