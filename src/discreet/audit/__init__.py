"""Try to break it: exact and sampled privacy losses, hunts for certificates, attacks on releases.

Nothing here is part of a release. Audits run on tables that are public or made up, on mechanisms of
ours or of anybody's.
"""
