"""What the query-log pipeline measured."""
