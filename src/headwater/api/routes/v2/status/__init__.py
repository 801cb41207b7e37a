"""Entities and their instances."""
