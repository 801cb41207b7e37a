"""`headwater rules` and `headwater alerts`."""
