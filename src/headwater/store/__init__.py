"""PostgreSQL and nothing else: the only importer of the driver. Functions take a connection; no rule and no HTTP word lives here."""
