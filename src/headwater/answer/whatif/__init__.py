"""Answers about changes that are not made yet: what would break, what would hold other values, and whom to warn."""
