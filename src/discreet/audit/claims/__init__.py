"""What the papers claim, each claim with a verdict and evidence that runs."""
