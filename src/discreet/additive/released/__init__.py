"""An additive model as it was released, and what it tells for nothing more."""
