"""Plans made, kept and worked off."""
