"""Commands that need no table of yours: a demo, audits, what papers claim, where noise goes."""
