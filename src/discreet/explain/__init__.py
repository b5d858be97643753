"""Plans that explain a model."""
