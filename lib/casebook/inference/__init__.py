"""Intervals, tests, corrections for multiplicity and power."""
