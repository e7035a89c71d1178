"""Intervals and tests of means over units that may belong together in clusters."""
