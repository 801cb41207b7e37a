"""What people change: metadata, keys, rules about names, and the audit of it all."""
