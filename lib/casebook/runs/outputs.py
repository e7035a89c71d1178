"""What one executed notebook puts into ``results/<run>``: numbers, rows, tables, figures, items."""

import gzip
import json
import math
from dataclasses import asdict
from urllib.parse import urlencode

import pandas as pd

from casebook.errors import InputError
from casebook.figures import Figure, as_svg, views
from casebook.files import write_bytes, write_json, write_text
from casebook.paths import run_dir, valid_name
from casebook.readers import read_json
from casebook.runs.items import STORED_DIGITS, items_json
from casebook.runs.record import RECORD, each_number, json_rows, require
from casebook.sheets import table_for_csv
from casebook.stats.samples import number_or_none


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
        return self.folder / kind / f"{self.cell}.{valid_name(name, kind)}.{ending}"

    def rows(self, frame):
        """Keep the tidy per-unit rows, so that any later comparison can be paired."""
        path = self.folder / "rows" / f"{self.cell}.csv.gz"
        # Without time and file name in the header, equal rows give equal bytes.
        return write_bytes(path, gzip.compress(_csv(frame).encode(), mtime=0))

    def table(self, name, frame, timed=False):
        """Write a table; measurements of time lie apart from what reruns must reproduce."""
        kind = "timings" if timed else "tables"
        return write_text(self._path(kind, name, "csv"), _csv(frame))

    def figure(self, name, figure, caption, data=None, timed=False, finding=None):
        """Write a figure as SVG, its ``data`` as CSV, and give the view that a cell shows.

        ``finding`` is a sentence above it. A figure of measured times (``timed``) is kept apart
        from what reruns must reproduce.
        """
        from matplotlib import pyplot

        kind = "timings" if timed else "figures"
        mark = f"{self.cell}-{name}"
        svg = as_svg(figure, mark)
        files = {"SVG": write_bytes(self._path(kind, name, "svg"), svg)}
        if data is not None:
            files["CSV"] = write_text(self._path(kind, name, "csv"), _csv(data))
        linked = self.run != "scratch"  # by hand: nothing is built that links lead to
        wide, narrow = views(svg, figure, mark, caption, linked)
        pyplot.close(figure)
        # From the page of the cell.
        downloads = {
            ending: f"../../{kind}/{file.name}"
            for ending, file in files.items()
            if linked
        }
        return Figure(wide, caption, downloads, finding, narrow)

    def items(self, items):
        return write_text(_json_path(self.run, self.cell, "items"), items_json(items))

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
        table = pd.DataFrame({"system": names}, pd.Index(systems))
        places = {"": controls} | (groups or {})
        for group, members in places.items():
            places[group] = table.index.isin(members).nonzero()[0].tolist()
        content |= {
            "systems": names,
            "baseline": systems.index(baseline),
            "controls": places.pop(""),
            "groups": {group: members for group, members in places.items() if members},
            "timing": timing if milliseconds else None,
        }
        if milliseconds:
            table["milliseconds"] = table.index.map(milliseconds)
            self.table(LEADERBOARD_TIMES, table, timed=True)
        return write_text(
            _json_path(self.run, self.cell, "leaderboard"),
            items_json(_rounded(content)),
        )

    def item_page(self, **choice):
        """Address of this cell's items, or of a choice of them, from its own page.

        A choice is what the page of items keeps in its address: ``q`` (an item), ``find`` (words),
        ``only`` (a tag, of items or of the system), ``without`` (one that items lack, or the other
        system), ``order``, and a pair of systems under readers' names: ``system``, ``against`` and
        ``change`` (better, equal or worse) in a ``measure``.
        """
        return f"../../generated/{item_page_address(self.cell, **choice)}"

    def numbers(self, experiment, values):
        return write_json(
            _json_path(self.run, self.cell, "numbers"), {experiment: _rounded(values)}
        )

    def contrasts(self, experiment, frames):
        rows = {}
        for dataset, measures in frames.items():
            rows[dataset] = {
                measure: json_rows(frame) for measure, frame in measures.items()
            }
        return write_json(
            _json_path(self.run, self.cell, "contrasts"), {experiment: _rounded(rows)}
        )

    def headlines(self, *headlines):
        """Write each `Headline`, the answers of a chapter; one that answers nothing has no file."""
        if headlines:
            rows = _rounded([asdict(headline) for headline in headlines])
            write_json(_json_path(self.run, self.cell, "headlines"), rows)


def _csv(frame):
    # Of a column that also holds None, pandas would write floats with all digits.
    mixed = frame.select_dtypes([object, "str"])
    frame = frame.assign(**{name: mixed[name].map(_six_digits) for name in mixed})
    return table_for_csv(frame).to_csv(
        index=False, float_format=_six_digits, lineterminator="\n"
    )


def _six_digits(value):
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:z.{STORED_DIGITS}f}"  # z: a rounded zero has no sign
    return value


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    if isinstance(value, float):
        return round(value, STORED_DIGITS) + 0.0
    return value


# --- numbers of a run


def number(row, value="value", low="low", high="high"):
    """An estimate as an entry of ``numbers.json``, where undefined is null."""
    reason = row.get("reason")
    return {
        "value": number_or_none(row[value]),
        "ci": [number_or_none(row[low]), number_or_none(row[high])],
        "n": int(row["n"]),
        "control": number_or_none(row.get("control")),
        "reason": reason if isinstance(reason, str) and reason else None,
    }


def _json_path(run, cell, kind):
    return run_dir(run) / kind / f"{cell}.json"


def read_numbers(run, cell, kind="numbers"):
    path = _json_path(run, cell, kind)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def finished_cells(run):
    """The cells of a run that have a record: those that ran to their end."""
    return sorted(
        path.parent.name for path in (run_dir(run) / "runs").glob(f"*/{RECORD}")
    )


def _joined(run):
    numbers = {}
    found = {}
    contrasts = {}
    for cell in finished_cells(run):
        for names, number in each_number(read_numbers(run, cell)):
            owner, known = found.setdefault(names, (cell, number))
            if known != number:
                problem = (
                    f"cells {owner} and {cell} report {' / '.join(names)} differently"
                )
                raise InputError(
                    f"results/{run}: {problem}: keep them apart with --run"
                )
            level = numbers
            for name in names[:-1]:
                level = level.setdefault(name, {})
            level[names[-1]] = number
        for experiment, datasets in read_numbers(run, cell, "contrasts").items():
            contrasts.setdefault(experiment, {}).update(datasets)
    return {"numbers": numbers, "contrasts": contrasts}


def merge_numbers(run):
    for name, content in _joined(run).items():
        write_json(run_dir(run) / f"{name}.json", content)


def require_report(run):
    """Refuse a report with a chapter without record, or an output that is gone or was altered.

    Gives the files that the records list. What an interrupted cell left is none of them.
    """
    remedy = f"'casebook run --run {run}' makes it again"
    files = set()
    for cell in finished_cells(run):
        folder = run_dir(run) / "runs" / cell
        files |= {(folder / name).resolve() for name in require(folder, remedy).outputs}
    for path in sorted((run_dir(run) / "notebooks").glob("[!.]*.ipynb")):
        if path.resolve() not in files:
            raise InputError(f"{path}: is in no run record: {remedy}, or remove it")
    for name, content in _joined(run).items():
        path = run_dir(run) / f"{name}.json"
        if not path.is_file() or read_json(path) != content:
            raise InputError(f"{path}: is not what the chapters report: {remedy}")
        files.add(path.resolve())
    return files


def item_page_address(cell, **choice):
    return f"items.html#{urlencode({'of': cell, **choice})}"


# --- a leaderboard: levels of systems, and contrasts of all their pairs, by column
# Systems are numbers, which index their list of names; a text is a number, which indexes the words
# of its column.

LEADERBOARD_TIMES = "leaderboard"  # name of a cell's file of times
LEVEL_COLUMNS = ("value", "low", "high", "n", "control", "reason")
CONTRAST_COLUMNS = (
    "system",
    "against",
    "difference",
    "low",
    "high",
    "n",
    "groups",
    "p",
    "p_adjusted",
    "better",
    "equal",
    "worse",
    "verdict",
    "family",
    "reason",
)


def measure_table(name, systems, levels, contrasts, margin=None):
    """What is known of systems by one measure.

    Parameters
    ----------
    name : str
        The measure, as readers see it.
    systems : sequence of str
        Names of the systems in files, in their order.
    levels, contrasts : pandas.DataFrame
        Rows of `casebook.scores.Scores.estimates`, which may lack a system, and of `Scores.pairs`.
    margin : float, optional
        The largest difference that does not matter, if one was declared for this measure.
    """
    position = {system: place for place, system in enumerate(systems)}
    sides = {side: contrasts[side].map(position) for side in ("system", "against")}
    return {
        "name": name,
        "margin": margin or None,
        "levels": _by_column(
            levels.set_index("system").reindex(systems), LEVEL_COLUMNS
        ),
        "contrasts": _by_column(contrasts.assign(**sides), CONTRAST_COLUMNS),
    }


def _by_column(rows, columns):
    """Of a column of text its words, and their numbers."""
    table = {}
    for column, values in rows.reindex(columns=list(columns)).items():
        defined = values.astype(object).where(values.notna(), None).tolist()
        if column in ("verdict", "family", "reason"):
            words = sorted({value for value in defined if value})
            defined = [words.index(value) if value else None for value in defined]
            defined = {"words": words, "rows": defined}
        table[column] = defined
    return table
