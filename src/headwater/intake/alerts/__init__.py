"""Record alerts and send their messages."""
