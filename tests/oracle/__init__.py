"""What others say a statement's columns depend on: Spark's analyzer, and DuckDB's own answers when a column's values change."""
