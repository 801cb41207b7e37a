"""Commands that run a job and record its lineage."""
