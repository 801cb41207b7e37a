"""Commands that run a job with its lineage around it."""
