"""``python -m casebook`` is the command line."""

from casebook.cli import main

if __name__ == "__main__":
    main()
