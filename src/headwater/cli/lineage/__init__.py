"""Commands about datasets, jobs, runs and the lineage between them."""
