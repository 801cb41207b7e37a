"""The shape of a statement without its values: fingerprints, and the keys under which its lineage may be remembered."""
