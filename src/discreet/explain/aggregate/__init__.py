"""Sample-and-aggregate: any explainer, on disjoint parts of the table."""
