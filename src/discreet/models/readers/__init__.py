"""Reading the trees of other people's libraries."""
