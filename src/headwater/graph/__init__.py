"""Walks over edges already in memory. Pure: no database, no HTTP, no drawing."""
