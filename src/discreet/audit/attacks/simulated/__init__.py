"""Attacks that make up their own tables, thousands of them, and run a mechanism on each."""
