"""Names and places of values that are private."""
