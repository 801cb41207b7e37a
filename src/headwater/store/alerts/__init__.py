"""Rules, alerts, messages and channels in PostgreSQL."""
