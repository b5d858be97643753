"""Plans that release the table itself."""
