"""Headwater's questions as tools of the Model Context Protocol: read-only, one call a question, every answer within a budget of characters."""
