"""Commands that plan and run repairs."""
