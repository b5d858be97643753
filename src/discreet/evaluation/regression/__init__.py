"""How far a regressor is off."""
