"""What is promised: neighbouring relations, certificates of sensitivity, guarantees, accounting."""
