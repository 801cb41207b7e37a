"""Apply policies, and record what breaks them."""
