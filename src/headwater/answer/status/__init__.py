"""Entities and their instances: what is declared, what is known, what may be made, what is wrong."""
