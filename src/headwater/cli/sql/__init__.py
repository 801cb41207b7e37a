"""Commands that need no server: lineage of SQL statements, and fingerprints of files."""
