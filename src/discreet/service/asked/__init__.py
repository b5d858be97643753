"""What is asked, of which data sets and models, and the jobs that answer it."""
