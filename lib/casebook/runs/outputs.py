"""What one executed notebook puts into ``results/<run>``: numbers, rows, tables, figures, items."""

import gzip
import json
import math
from dataclasses import asdict, replace
from urllib.parse import urlencode

import pandas as pd

from casebook.errors import InputError
from casebook.figures import Figure, as_svg, views
from casebook.files import write_bytes, write_json, write_text
from casebook.paths import run_dir, valid_name
from casebook.readers import read_json
from casebook.runs.evidence import RECORD, require
from casebook.runs.headlines import answers_text, headlines_text
from casebook.runs.items import STORED_DIGITS, items_json
from casebook.runs.leaderboard import LEADERBOARD_TIMES
from casebook.runs.record import each_number, json_rows


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
        self.run = run
        self.cell = valid_name(cell, "cell")
        self.folder = run_dir(run)

    def _path(self, kind, name, ending):
        name = valid_name(name, kind.removesuffix("s"))
        return self.folder / kind / f"{self.cell}.{name}.{ending}"

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

    def figure(self, name, figure, caption=None, data=None, alt=None, timed=False, finding=None):
        """Write a figure as SVG, and with a caption give the view that a cell shows.

        ``data`` is the frame that it was drawn from, ``finding`` a sentence above it. A figure of
        measured times (``timed``) is kept apart from what reruns must reproduce.
        """
        kind = "timings" if timed else "figures"
        svg = as_svg(figure, f"{self.cell}-{name}")
        path = write_bytes(self._path(kind, name, "svg"), svg)
        if caption is None:
            return path
        from matplotlib import pyplot

        files = {"SVG": path}
        if data is not None:
            files["CSV"] = write_text(path.with_suffix(".csv"), _csv(data))
        wide, narrow = views(svg, figure, f"{self.cell}-{name}", alt or caption)
        pyplot.close(figure)
        # From the page of the cell.
        downloads = {ending: f"../../{kind}/{file.name}" for ending, file in files.items()}
        return Figure(wide, caption, downloads, finding, narrow)

    def items(self, items):
        """Keep single items, such as questions or claims, as `item_page` collects them."""
        return write_text(self._json("items"), items_json(items))

    def leaderboard(
        self,
        systems,
        names,
        baseline,
        controls=(),
        groups=None,
        milliseconds=None,
        timing=None,
        **content,
    ):
        """Keep levels and contrasts of all pairs of systems, for the page that compares any two."""

        def places(group):
            return [place for place, system in enumerate(systems) if system in set(group)]

        places_of_groups = {name: places(group) for name, group in (groups or {}).items()}
        content |= {
            "systems": names,
            "baseline": systems.index(baseline),
            "controls": places(controls),
            "groups": {name: members for name, members in places_of_groups.items() if members},
            "timing": timing if milliseconds else None,
        }
        if milliseconds:
            times = [milliseconds.get(system) for system in systems]
            self.timing(LEADERBOARD_TIMES, pd.DataFrame({"system": names, "milliseconds": times}))
        return write_text(self._json("leaderboard"), items_json(_rounded(content)))

    def item_page(self, cell=None, **choice):
        """Give the address of this cell's items, or of a choice of them, from its own page.

        Another ``cell`` of the run may be named; it must have kept items.

        A choice is what the page of items keeps in its address: ``q`` (an item), ``find`` (words),
        ``only`` (a tag, of items or of the system), ``without`` (one that items lack, or the other
        system), ``order``, and a pair of systems under readers' names: ``system``, ``against`` and
        ``change`` (better, equal or worse) in a ``measure``.
        """
        return f"../../generated/{item_page_address(cell or self.cell, **choice)}"

    def numbers(self, experiment, values):
        """Write the numbers that the book may quote."""
        return write_json(self._json("numbers"), {experiment: _rounded(values)})

    def contrasts(self, experiment, frames):
        """Write the contrasts of a chapter: frames by data set and measure."""
        by_dataset = {}
        for dataset, measures in frames.items():
            by_dataset[dataset] = {
                measure: _rounded(json_rows(frame)) for measure, frame in measures.items()
            }
        return write_json(self._json("contrasts"), {experiment: by_dataset})

    def headlines(self, *headlines, bullets=()):
        """Write one to four `Headline`, the answers of a chapter, and give the text to show.

        It ends with ``bullets``. A chapter that answers nothing, such as a demonstration, has no
        file of headlines.
        """
        path = self._json("headlines")
        rounded = [replace(headline, **_rounded(asdict(headline))) for headline in headlines]
        if rounded:
            write_text(path, headlines_text(rounded))
        else:
            path.unlink(missing_ok=True)
        return Markdown(answers_text(rounded, bullets))


class Markdown(str):
    """Text that a notebook shows as Markdown."""

    def _repr_markdown_(self):
        return str(self)


def _csv(frame):
    from casebook.sheets import table_for_csv

    # Of a column that also holds None, pandas would write floats with all digits.
    mixed = [name for name in frame if frame[name].dtype == object]
    frame = frame.assign(**{name: frame[name].map(_six_digits) for name in mixed})
    return table_for_csv(frame).to_csv(index=False, float_format=_six_digits, lineterminator="\n")


def _six_digits(value):
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:z.{STORED_DIGITS}f}"  # z: a rounded zero has no sign
    return value


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return round(value, STORED_DIGITS) + 0.0 if isinstance(value, float) else value


# --- numbers of a run


def number(row, value="value", low="low", high="high"):
    """An estimate as an entry of ``numbers.json``, where undefined is null."""
    reason = row.get("reason")
    return {
        "value": _defined(row[value]),
        "ci": [_defined(row[low]), _defined(row[high])],
        "n": int(row["n"]),
        "control": _defined(row.get("control")),
        "reason": reason if isinstance(reason, str) and reason else None,
    }


def _defined(value):
    return None if value is None or math.isnan(value) else float(value)


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


JOINED = ("numbers.json", "contrasts.json")  # files of a run that join those of its cells


def finished_cells(run):
    """Name the cells of a run that have a record: those that ran to their end."""
    return sorted(path.parent.name for path in (run_dir(run) / "runs").glob(f"*/{RECORD}"))


def _joined(run):
    """Join numbers and contrasts of the finished cells, by file name."""
    numbers = {}
    owners = {}
    contrasts = {}
    for cell in finished_cells(run):
        for names, number in each_number(read_numbers(run, cell)):
            level = numbers
            for name in names[:-1]:
                level = level.setdefault(name, {})
            if level.setdefault(names[-1], number) != number:
                folder = run_dir(run) / "runs"
                raise InputError(
                    f"results/{run}: the cells {owners[names]} and {cell} both report "
                    f"{' / '.join(names)}, with other values, so the run has no such number: keep "
                    f"them apart with --run, and remove {folder / cell} or {folder / owners[names]}"
                )
            owners.setdefault(names, cell)
        for experiment, datasets in read_contrasts(run, cell).items():
            contrasts.setdefault(experiment, {}).update(datasets)
    files = {"numbers.json": numbers}
    if contrasts:
        files["contrasts.json"] = contrasts
    return files


def merge_numbers(run):
    """Write the joined numbers and contrasts of a run; gives the numbers."""
    files = _joined(run)
    for name in JOINED:
        path = run_dir(run) / name
        if name in files:
            write_json(path, files[name])
        else:  # of cells that have failed since
            path.unlink(missing_ok=True)
    return files["numbers.json"]


def require_report(run):
    """Refuse a report with a chapter without record, or an output that is gone or was altered.

    Gives the files that the records list. What an interrupted cell left is none of them.
    """
    remedy = f"'casebook run --run {run}' makes it again"
    files = set()
    for cell in finished_cells(run):
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
    joined = _joined(run)
    for name in JOINED:
        path = run_dir(run) / name
        content = read_json(path) if path.is_file() else None
        if content != joined.get(name):
            raise InputError(f"{path}: is not what the chapters report: {remedy}")
    return files | {(run_dir(run) / name).resolve() for name in joined}


def item_page_address(cell, **choice):
    """Give the address of a chapter's items, or a choice of them, from a page of ``generated``."""
    address = f"items/{cell}.html"
    return f"{address}#{urlencode(choice)}" if choice else address
