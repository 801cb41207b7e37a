"""Facets and versions over time."""
