"""Tables that are read once, when they are opened: databases, Delta and Iceberg."""
