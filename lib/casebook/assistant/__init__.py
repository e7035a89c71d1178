"""Answers of an assistant: their log, what is measured of them, and how a log is made."""
