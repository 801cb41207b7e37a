"""Commands that run on Spark: query logs, and jobs over the whole graph."""
