"""Stands in for Jupyter Book in commands of which the rendering is not the point."""

import sys
from pathlib import Path

from quick_book import write_pages


def main():
    """Write the pages as they are staged."""
    target = Path(sys.argv[sys.argv.index("--path-output") + 1])
    write_pages(Path(sys.argv[2]), target / "_build" / "html")
