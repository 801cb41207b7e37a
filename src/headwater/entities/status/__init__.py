"""What is known of instances: their states, the versions they were made in, and what is wrong because something else is."""
