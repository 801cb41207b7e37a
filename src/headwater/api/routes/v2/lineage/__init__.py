"""Datasets, jobs, runs, and the lineage between them."""
