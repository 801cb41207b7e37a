"""The internal form to relations, scopes and flows: what names mean, given what schemas are known. No parser here."""
