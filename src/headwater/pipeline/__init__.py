"""Headwater's own PySpark jobs. Built by a later step: nothing lives here yet."""
