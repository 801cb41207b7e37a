"""Entities as they are declared, and what is known of their instances."""
