"""A service of data sets, and questions to one."""
