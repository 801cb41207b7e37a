"""Measurements of the query-log pipeline."""
