"""Commands about usage, cost and coverage, as query logs report them."""
