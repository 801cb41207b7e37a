"""Datasets, jobs, runs and single items: what exists, where it comes from and what depends on it."""
