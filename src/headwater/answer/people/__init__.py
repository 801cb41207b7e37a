"""Who may come in, who is told, and who changed what."""
