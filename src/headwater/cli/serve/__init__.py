"""Commands that run the server and maintain its database."""
