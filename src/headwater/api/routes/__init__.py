"""Routes by API version. They read parameters, call intake or answer, and return the result."""
