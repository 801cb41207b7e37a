"""Changes by people: metadata, keys, identity rules, and their audit log."""
