"""What a source of records is worth: private Shapley values of hospitals, vendors, sites."""
