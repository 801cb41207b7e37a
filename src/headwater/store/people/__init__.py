"""Changes by people, their keys, the listeners, and the audit log."""
