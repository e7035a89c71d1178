"""Compare the numbers of a run of the small grid with those of results/smoke, which is committed.

``reference.py FOLDER``. One machine writes the same numbers again; another one, with other
instructions, rounds differently in the last places of a float32.
"""

import json
import math
import sys
from pathlib import Path

REFERENCE = Path(__file__).resolve().parents[1] / "results" / "smoke"
FILES = ("numbers.json", "contrasts.json")
CLOSE = 1e-5  # relative, or absolute below 1: a hundred times the noise of a float32


def differences(before, after, at=""):
    """Give what differs by more than the noise of a machine.

    Parameters
    ----------
    before, after : object
        Values of JSON.
    at : str
        Where they are, for the lines.

    Yields
    ------
    str
        A line for each value that differs, is gone or is new.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            if key not in after:
                yield f"{at}/{key}: gone"
            elif key not in before:
                yield f"{at}/{key}: new"
            else:
                yield from differences(before[key], after[key], f"{at}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{at}/{number}")
    elif not _same(before, after):
        yield f"{at}: {before!r} became {after!r}"


def _same(before, after):
    if isinstance(before, float) and isinstance(after, float):  # a count is not rounded
        return math.isclose(before, after, rel_tol=CLOSE, abs_tol=CLOSE)
    return before == after and isinstance(before, type(after))


# Print what differs; exit code 1 if anything does.
def main(folder, reference=REFERENCE):
    failed = False
    for name in FILES:
        before, after = (
            json.loads((Path(place) / name).read_text()) for place in (reference, folder)
        )
        for line in differences(before, after):
            print(f"{name}{line}")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
