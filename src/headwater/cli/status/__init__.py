"""Commands about entities and their instances."""
