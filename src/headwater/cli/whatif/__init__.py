"""`headwater whatif`."""
