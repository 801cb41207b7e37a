"""Commands for metadata, keys, listeners, rules about names, and the audit."""
