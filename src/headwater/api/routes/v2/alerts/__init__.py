"""Routes for rules, alerts and channels."""
