"""Routes by API version. They read parameters, ask intake or answer, and return what they get."""
