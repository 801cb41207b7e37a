"""Rules of alerts and what follows from them: selection, grouping by first cause, texts of messages. No I/O."""
