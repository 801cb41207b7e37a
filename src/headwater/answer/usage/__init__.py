"""Answers from query logs: use, cost, and datasets that may be removed."""
