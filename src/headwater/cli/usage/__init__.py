"""Commands about what query logs tell."""
