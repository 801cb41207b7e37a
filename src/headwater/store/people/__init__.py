"""What people said, their keys, the listeners, and the audit log."""
