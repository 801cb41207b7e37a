"""Datasets and jobs by words."""
