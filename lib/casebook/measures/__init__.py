"""Measures: arrays and frames in, numbers out. Imports numpy, scipy and pandas only."""
