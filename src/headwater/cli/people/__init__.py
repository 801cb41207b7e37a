"""Commands about people: what they say, their keys, listeners, names and the audit."""
