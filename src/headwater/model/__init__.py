"""The nouns: frozen values that every room shares. No I/O, no rules about storage or the wire."""
