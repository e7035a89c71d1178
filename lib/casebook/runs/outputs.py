"""What one executed notebook puts into ``results/<run>``: numbers, rows, tables, figures, single items."""

import bisect
import difflib
import gzip
import json
import math
from dataclasses import asdict, replace
from urllib.parse import urlencode

from casebook.errors import InputError
from casebook.figures import Figure, as_svg, inline
from casebook.files import write_bytes, write_json, write_text
from casebook.paths import run_dir, valid_name
from casebook.readers import read_json
from casebook.runs.evidence import RECORD, require
from casebook.runs.headlines import headlines_text

DIGITS = 6  # of every stored number: far below any interval, above float noise


class RunOutputs:
    """The part of ``results/<run>`` that belongs to one cell of the grid.

    Parameters
    ----------
    run : str
        Name of the run: letters, digits, ``_``, ``-`` and ``.``, at most 100.
    cell : str
        Name of the grid's row, by the same rule.

    Raises
    ------
    InputError
        If a name is not allowed.

    Examples
    --------
    >>> RunOutputs("scratch", "retrieval_ablation").folder.name
    'scratch'
    """

    def __init__(self, run, cell):
        self.run, self.cell = run, valid_name(cell, "cell")
        self.folder = run_dir(run)

    def _path(self, kind, name, ending):
        return (
            self.folder / kind / f"{self.cell}.{valid_name(name, kind.removesuffix('s'))}.{ending}"
        )

    def _json(self, kind):
        return _json_path(self.run, kind, self.cell)

    def rows(self, frame):
        """Keep the tidy per-unit rows, so that any later comparison can be paired."""
        path = self.folder / "rows" / f"{self.cell}.csv.gz"
        # Without time and file name in the header, equal rows give equal bytes.
        return write_bytes(path, gzip.compress(_csv(frame).encode(), mtime=0))

    def table(self, name, frame):
        """Write a table that readers can download."""
        return write_text(self._path("tables", name, "csv"), _csv(frame))

    def timing(self, name, frame):
        """Write measurements of time, apart from what reruns must reproduce."""
        return write_text(self._path("timings", name, "csv"), _csv(frame))

    def figure(self, name, figure, caption=None, data=None, alt=None, timed=False):
        """Write a figure as SVG, and with a caption give the view that a cell shows, with what it was drawn from.

        A figure of measured times is kept apart from what reruns must reproduce.
        """
        kind = "timings" if timed else "figures"
        drawn = as_svg(figure)
        path = write_bytes(self._path(kind, name, "svg"), drawn)
        if caption is None:
            return path
        from matplotlib import pyplot

        files = {"SVG": path}
        if data is not None:
            files["CSV"] = write_text(path.with_suffix(".csv"), _csv(data))
        text = inline(drawn, figure, f"{self.cell}-{name}", alt or caption)
        pyplot.close(figure)
        # From the page of the cell.
        downloads = {ending: f"../../{kind}/{file.name}" for ending, file in files.items()}
        return Figure(text, caption, alt or caption, downloads)

    def items(self, found):
        """Keep single items, such as questions or claims, with what became of them."""
        return write_text(self._json("items"), as_json(found))

    def item_page(self, tag):
        """Give the address of this cell's items of one kind, from its own page."""
        return f"../../generated/{page_address(self.cell, only=tag)}"

    def numbers(self, experiment, values):
        """Write the numbers that the book may quote."""
        return write_json(self._json("numbers"), {experiment: _rounded(values)})

    def contrasts(self, experiment, frames):
        """Write the contrasts of a chapter: data set to measure to a frame of `casebook.contrasts`."""
        rows = {
            dataset: {measure: _records(frame) for measure, frame in measures.items()}
            for dataset, measures in frames.items()
        }
        return write_json(self._json("contrasts"), {experiment: rows})

    def headlines(self, *found):
        """Write one to four `Headline`, the answers of a chapter, and give their sentences to show.

        A chapter that answers nothing, such as a demonstration, has no file of headlines.
        """
        path = self._json("headlines")
        if not found:
            path.unlink(missing_ok=True)
            return Markdown()
        rounded = [replace(each, **_rounded(asdict(each))) for each in found]
        write_text(path, headlines_text(rounded))
        first, *rest = [f"{each.question} {each.sentence}" for each in rounded]
        return Markdown("\n".join([f"**{first}**", "", *(f"- {text}" for text in rest)]))


class Markdown(str):
    """Text that a notebook shows as Markdown."""

    def _repr_markdown_(self):
        return str(self)


def _records(frame):
    """Give the rows of a frame as JSON holds them: undefined is null."""
    return _rounded(frame.astype(object).where(frame.notna(), None).to_dict("records"))


def _csv(frame):
    from casebook.sheets import table_for_csv

    # Of a column that also holds None, pandas would write floats with all digits.
    mixed = [name for name in frame if frame[name].dtype == object]
    frame = frame.assign(**{name: frame[name].map(_six_digits) for name in mixed})
    return table_for_csv(frame).to_csv(index=False, float_format=_six_digits, lineterminator="\n")


def _six_digits(value):
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:z.{DIGITS}f}"  # z: a rounded zero has no sign
    return value


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return round(value, DIGITS) + 0.0 if isinstance(value, float) else value


# --- numbers of a run


def read_numbers(run, cell):
    """Read what a cell reported."""
    return _stored(_json_path(run, "numbers", cell))


def read_contrasts(run, cell):
    """Read the contrasts that a cell reported."""
    return _stored(_json_path(run, "contrasts", cell))


def _json_path(run, kind, cell):
    return run_dir(run) / kind / f"{cell}.json"


def _stored(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


MERGED = ("numbers.json", "contrasts.json")  # what the chapters of a run report, joined


def recorded(run):
    """Name the cells of a run that have a record: those that ran to their end."""
    return sorted(path.parent.name for path in (run_dir(run) / "runs").glob(f"*/{RECORD}"))


def merged(run):
    """Join numbers and contrasts of all finished cells, by file name; two cells may not disagree on a number."""
    numbers, owners, contrasts = {}, {}, {}
    for cell in recorded(run):
        for names, number in each_number(read_numbers(run, cell)):
            place = numbers
            for name in names[:-1]:
                place = place.setdefault(name, {})
            if place.setdefault(names[-1], number) != number:
                former, latter = (run_dir(run) / "runs" / each for each in (owners[names], cell))
                raise InputError(
                    f"results/{run}: the cells {former.name} and {latter.name} both report {' / '.join(names)}, with "
                    f"other values, so the run has no such number: keep them apart with --run, and remove {latter} or "
                    f"{former}"
                )
            owners.setdefault(names, cell)
        for experiment, datasets in read_contrasts(run, cell).items():
            contrasts.setdefault(experiment, {}).update(datasets)
    return {"numbers.json": numbers} | ({"contrasts.json": contrasts} if contrasts else {})


def merge_numbers(run):
    """Write what `merged` joins; gives the numbers."""
    files = merged(run)
    for name in MERGED:
        path = run_dir(run) / name
        if name in files:
            write_json(path, files[name])
        else:  # of cells that have failed since
            path.unlink(missing_ok=True)
    return files["numbers.json"]


def require_report(run):
    """Refuse a report in which a chapter has no record, or an output of one is gone or was altered.

    Gives the files that the records list. What an interrupted cell left is none of them.
    """
    remedy = f"'casebook run --run {run}' makes it again"
    files = set()
    for cell in recorded(run):
        folder = run_dir(run) / "runs" / cell
        record = require(folder, remedy)
        if not record.outputs:
            raise InputError(
                f"{folder / RECORD}: lists no outputs: it is of an earlier version: {remedy}"
            )
        files |= {(folder / name).resolve() for name in record.outputs}
    for path in sorted((run_dir(run) / "notebooks").glob("[!.]*.ipynb")):
        if path.resolve() not in files:
            raise InputError(
                f"{path}: is in no run record, so nothing says what made it: {remedy}, or remove it"
            )
    expected = merged(run)
    for name in MERGED:
        path = run_dir(run) / name
        content = read_json(path) if path.is_file() else None
        if content != expected.get(name):
            raise InputError(f"{path}: is not what the chapters report: {remedy}")
    return files | {(run_dir(run) / name).resolve() for name in expected}


def each_number(tree, names=()):
    """Yield the names and the content of every number."""
    for name, inner in tree.items():
        if isinstance(inner, dict) and "value" not in inner:
            yield from each_number(inner, (*names, name))
        else:
            yield (*names, name), inner


# --- single items: what a page needs to show each of them

LONGEST = 400  # characters of an item's own text
MOST_BYTES = 250_000  # of one chapter's items, so that a report stays small


def as_json(found):
    """Write the items of a chapter, the same bytes for the same content."""
    return json.dumps(found, separators=(",", ":"), sort_keys=True, allow_nan=False)


def fitting(collect, order, openings, most_bytes=MOST_BYTES):
    """Collect as many items as there is room for: all with long openings, all with short ones, or the first."""
    for opening in openings:
        found = collect(sorted(order), opening)
        if len(as_json(found)) <= most_bytes:
            return found

    def size(count):
        return len(as_json(collect(sorted(order[:count]), openings[-1])))

    most_items = bisect.bisect_right(range(1, len(order)), most_bytes, key=size)
    return collect(sorted(order[: max(most_items, 1)]), openings[-1])


def shortened(text, most=LONGEST):
    """Give a text in one line, with an ellipsis where it was longer."""
    text = " ".join(str(text).split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def changed(before, after):
    """Mark, word by word, what differs between two texts: ``=`` in both, ``-`` before only, ``+`` after only."""
    a, b = before.split(), after.split()
    runs = []
    for what, a0, a1, b0, b1 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if what == "equal":
            runs.append("=" + " ".join(a[a0:a1]))
        else:
            runs += [
                sign + " ".join(words)
                for sign, words in (("-", a[a0:a1]), ("+", b[b0:b1]))
                if words
            ]
    return runs


def page_address(cell, **choice):
    """Give the address of a chapter's items, from a page of ``generated``."""
    return f"items/{cell}.html" + (f"#{urlencode(choice)}" if choice else "")
