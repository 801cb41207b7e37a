"""Datasets, jobs, runs, and the edges between them."""
