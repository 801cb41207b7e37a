"""'headwater run DIR': a dk.yaml, the program it names, and the run events around it."""
