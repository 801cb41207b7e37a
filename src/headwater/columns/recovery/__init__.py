"""What the parser does not read, read in other ways, each labelled with how much it understood."""
