"""Encoders and rerankers; the only package that imports torch."""
