"""Other judgements of a statement's columns: Spark's analyzer, and DuckDB's own answers when a column's values change."""
