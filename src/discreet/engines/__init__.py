"""How numbers are computed fast, without a thought of privacy: question by form of model."""
