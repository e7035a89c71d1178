"""Render one run as a self-contained site."""

from casebook.book.build import build_book

__all__ = ["build_book"]
