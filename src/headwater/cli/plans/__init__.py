"""Commands about what to make again."""
