"""Fact-checking: from a claim to a verdict, and the scoring around it."""
