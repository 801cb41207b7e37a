"""Systems that the server reads on a schedule."""
