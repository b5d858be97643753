"""What kind of model it is: linear, trees, a network, or opaque."""
