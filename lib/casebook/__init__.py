"""Casebook: an executable book of evidence about legal and insurance AI systems."""

__version__ = "0.1.0"
