"""Other ways to read statements that the parser cannot, each labelled with how much it understood."""
