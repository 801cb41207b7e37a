"""Routes for metadata, listeners and access."""
