"""What is there, where it comes from and what depends on it: datasets, jobs, runs and single items."""
