"""Commands about private values."""
