"""Readers and writers of the field's file formats; numpy, and pandas for tables."""
