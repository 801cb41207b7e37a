"""Answers about values that are private: where they are, who reads them, and whether that keeps to the policies."""
