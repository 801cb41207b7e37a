"""Commands that ask no server: what SQL statements read and write, and the fingerprints of files."""
