"""API keys and identities, listeners, and the audit log."""
