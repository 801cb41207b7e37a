"""The read side: one module for each question. Never imports the write side."""
