"""`headwater review`: the effects of a pull request, from files alone."""
