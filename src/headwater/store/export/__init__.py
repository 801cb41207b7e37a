"""The schema `lineage`: views of what is stored, for people's own SQL and for files."""
