"""What people say, who is told, who may come in."""
