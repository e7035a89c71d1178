"""Shifts of query embeddings: learned, evaluated without leakage, and gated."""
