"""What a chapter says, in four verbs: answer, draw, show, keep. Words are made from the rows."""

import itertools
import re

import numpy as np
import pandas as pd
from IPython import get_ipython
from IPython.display import Markdown, display

from casebook import plots
from casebook.errors import InputError
from casebook.runs.headlines import Headline
from casebook.runs.outputs import RunOutputs, measure_table, number
from casebook.scores import Choice
from casebook.sentences import (
    PLACES,
    caption,
    finding,
    kind,
    labels,
    plain,
    reserves,
    units,
)
from casebook.tables import ABOUT, Table, with_interval
from casebook.verdicts import BETTER, EFFECTS, INTERVAL_BY_UNIT, NEUTRAL, OPPOSITE

NOT_KEPT = ("_phrase", "_unit", "note")  # what only sentences are made of
TITLES = {"p_adjusted": "corrected p", "tie_class": "tie class"}


class Chapter:
    """The outputs of one notebook.

    Parameters
    ----------
    run, cell : str
        Outputs go to ``results/<run>``, in files named after the cell.
    experiment : str
        First key of ``numbers.json`` and ``contrasts.json``.

    Examples
    --------
    >>> Chapter("scratch", "mine", "my_question").outputs.cell
    'mine'
    """

    def __init__(self, run, cell, experiment):
        plots.use_style()
        self.outputs = RunOutputs(run, cell)
        self.experiment = experiment
        self._answers = {}
        self._asked = {}  # cell and execution of each
        self._cells = {}  # of each file
        self._numbers = {}
        self._contrasts = {}
        self._items = None
        self._said = ""  # below the figure that came last
        self._drawn = None  # its rows

    def answer(self, question, row, also=None, yes=BETTER, **words):
        """Answer a question by a row of `Scores.contrasts` or of `Scores.estimates`.

        The question may name {system}, {against} and {measure}. ``also`` is a row on the same pair
        that readers understand at once, such as the share of questions whose first document is
        right. ``yes`` is the verdict that means yes. ``words`` are fields of
        `casebook.runs.headlines.Headline`, such as the topic: the row of the front page.
        """
        asked = filled(question, row)
        against = row.get("against_name", "")
        if row.get("role"):
            against = f"{against}, {row['role']}"
        helps = EFFECTS[yes]
        hurts = EFFECTS[OPPOSITE[yes]]
        about = row[["dataset", "measure", "unit", "cluster"]].to_dict()
        about |= {
            "system": row["system_name"],
            "against": against,
            "null": row.get("null", 0.0),
            "margin": row.get("margin", 0.0),
            "decision": row.get("verdict"),
            "answers": {helps: "Yes", hurts: "No, the other way round"},
        }
        if yes != BETTER:
            about["words"] = {helps: "yes", hurts: "no"}
        if pd.notna(row.get("level")):
            also = row if also is None else also
            about["meaning"] = plain(also, named=also["measure"] != row["measure"])
        if "control" in row and pd.notna(row.get("baseline")):
            about["chance"] = row["control"] - row["baseline"]
        headline = Headline.of(row, asked, **about | words)
        self._forget()
        self._asked[asked] = this_cell(), this_execution()
        self._answers[asked] = headline
        self.outputs.headlines(*self._answers.values())
        limits = reserves(row.drop(["role", "reason"], errors="ignore"))
        display(Markdown(" ".join([headline.markdown, *limits])))

    def _forget(self):
        """Leave out what an earlier execution of this cell has answered."""
        for asked, (cell, execution) in list(self._asked.items()):
            if cell == this_cell() and execution != this_execution():
                del self._asked[asked], self._answers[asked]

    def draw(self, figure, frame, title=None, timed=False, name=None):
        """Keep a figure with its rows, and show it with what they say.

        ``figure`` is one of matplotlib, or a function that draws one from the rows, such as
        `forest`; then its marks lead to the items behind them. Above it is ``title``, by default
        what the rows show, below it what they are of. A figure of measured times (``timed``) is
        kept apart from what reruns must reproduce. Files are called after ``name``, by default
        after the title or what the rows are of.
        """
        text = filled(title, frame) if title else ""
        self._drawn = frame
        self._said = caption(frame) if "system_name" in frame else text
        effect = "value" if kind(frame) == "estimates" else "difference"
        if "system_name" in frame and frame[effect].isna().all():
            found = finding(frame) if "verdict" in frame and frame["n"].any() else ""
            display(Markdown(f"{found} {self._said}"))
            return
        if callable(figure):
            figure = figure(self._linked(frame))
        figure = getattr(figure, "figure", figure)  # of axes
        key = self._file_name("figure", frame, title, name)
        finds = text or finding(frame)
        display(self.outputs.figure(key, figure, self._said, frame, timed, finds))

    def show(self, frame, title=None, timed=False, name=None):
        """Keep rows as they are, and show what differs between them, under readers' names."""
        if frame.empty or ("system_name" in frame and not frame["n"].any()):
            return
        key = self._file_name("table", frame, title, name)
        self.outputs.table(key, frame, timed)
        text = filled(title, frame) if title else ""
        if "system_name" in frame:
            said = caption(frame)
            if said == self._said and (text or frame.equals(self._drawn)):
                said = (
                    ""
                    if text
                    else f"Numbers of the figure above: {name or named(frame)}"
                )
            text = ": ".join(filter(None, [text, said]))
            frame = readable(frame)
        display(Table(frame, text))

    def keep(self, *frames, rows=None, items=None):
        """Keep estimates and contrasts for other pages, scores of every unit, and single items.

        Items are the page that marks of figures lead to, so they are kept before these are drawn.
        """
        for frame in frames:
            frame = frame[frame["n"] > 0]
            for (dataset, measure), part in frame.groupby(
                ["dataset", "measure"], sort=False
            ):
                if kind(part) == "contrasts":
                    self._keep_contrasts(dataset, measure, part)
                    continue
                systems = self._numbers.setdefault(dataset, {})
                for row in part.to_dict("records"):
                    systems.setdefault(row["system"], {})[measure] = number(row)
        self.outputs.contrasts(self.experiment, self._contrasts)
        self.outputs.numbers(self.experiment, self._numbers)
        if rows is not None:
            self.outputs.rows(rows)
        if items is not None:
            self._items = items
            self.outputs.items(items)

    def _keep_contrasts(self, dataset, measure, rows):
        """Keep contrasts beside others of the measure; a pair that is there already is replaced."""
        phrases = [name for name in rows if name.endswith(NOT_KEPT)]
        of_dataset = self._contrasts.setdefault(dataset, {})
        rows = pd.concat([of_dataset.get(measure), rows.drop(columns=phrases)])
        pair = ["system", "against"]
        of_dataset[measure] = rows.drop_duplicates(pair, keep="last", ignore_index=True)

    def leaderboard(
        self,
        levels,
        pairs,
        baseline,
        *,
        controls=(),
        groups=None,
        milliseconds=None,
        timing=None,
    ):
        """Keep what the page needs on which a reader compares any two systems.

        Parameters
        ----------
        levels, pairs : sequence of pandas.DataFrame
            Rows of `Scores.estimates` and of `Scores.pairs`, a frame a measure; the measure that
            leads first.
        baseline : str or Choice
            System that the others are compared with until a reader chooses another one.
        controls : sequence of str
            Systems that know nothing.
        groups : dict, optional
            Name of a choice of systems, such as "Own systems", to the systems.
        milliseconds : dict, optional
            System to its time for a unit; kept apart from what reruns must reproduce.
        timing : str, optional
            What the milliseconds are, and what they leave out.
        """
        baseline = Choice.of(baseline)
        first = levels[0]
        systems = first["system"].tolist()
        measures = []
        for level, rows in zip(levels, pairs, strict=True):
            title = level["measure"].iloc[0]
            margin = rows["margin"].iloc[0]
            table = measure_table(title, systems, level, rows, margin)
            if "neutral" in rows and rows["neutral"].eq(True).all():
                table["words"] = NEUTRAL
            measures.append(table)
        row = first.iloc[0]
        names = first["system_name"].tolist()
        protocol = f"{units(row)}, {row['title']}"
        if baseline.role:
            protocol += f"; {names[systems.index(baseline.system)]} is {baseline.role}"
        self.outputs.leaderboard(
            systems,
            names,
            baseline.system,
            controls,
            groups,
            milliseconds,
            timing,
            dataset=row["dataset"],
            unit=row["unit"],
            cluster=row["cluster"],
            protocol=protocol,
            measures=measures,
        )

    def _file_name(self, folder, frame, title, name):
        """Name of a file of rows; of two cells with one name the second adds a number."""
        text = name or (filled(title, frame) if title else named(frame))
        stem = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:60]
        for of_name in itertools.count(1):
            key = stem if of_name == 1 else f"{stem}-{of_name}"
            if self._cells.setdefault((folder, key), this_cell()) == this_cell():
                return key

    def _linked(self, rows):
        """Rows with the address of the items behind each, where this chapter has items."""
        if self._items is None:
            return rows
        addresses = []
        for row in rows.to_dict("records"):
            choice = {"system": row["system_name"]}
            if row.get("against_name"):
                choice["against"] = row["against_name"]
            is_there = set(choice.values()) <= set(self._items["systems"])
            listed = self._items["items"]
            if row["part"]:
                choice["only"] = f"part: {row['part']}"
                listed = self._items["tags"].get(choice["only"], [])
            # A mark leads to what it counts, or nowhere.
            is_there = is_there and 0 < len(listed) <= row["n"]
            addresses.append(self.outputs.item_page(**choice) if is_there else None)
        return rows.assign(address=pd.Series(addresses, rows.index, dtype=object))


def this_cell():
    """What is executed now: the id that JupyterLab sends, else the number of the execution."""
    parent = getattr(get_ipython(), "get_parent", dict)()
    return parent.get("metadata", {}).get("cellId", this_execution())


def this_execution():
    return getattr(get_ipython(), "execution_count", 0)


def named(frame):
    """What a figure or a table of rows is called."""
    if "system_name" not in frame:
        raise InputError("these rows do not say what they are of: give a title")
    what = frame["family"].iloc[0] if "family" in frame else kind(frame)
    return f"{what}, {' and '.join(frame['measure'].unique())}"


def filled(text, rows):
    """Text with the names of a row, or of the first of several."""
    if "{" not in text:
        return text
    row = rows.iloc[0] if isinstance(rows, pd.DataFrame) else rows
    names = {"system": row.get("system_phrase"), "against": row.get("against_phrase")}
    return text.format(**names, measure=row.get("measure"))


def readable(frame):
    """What differs between rows, for readers: names, then numbers with their intervals."""
    frame = frame[frame["n"] > 0]
    table = frame.drop(columns=ABOUT, errors="ignore")
    if "id" not in table:
        what = "comparison" if kind(frame) == "contrasts" else "system"
        table.insert(0, what, labels(frame))
    if "reason" in table:
        table["reason"] = table["reason"].mask(table["reason"] == INTERVAL_BY_UNIT)
    if len(set(table["n"])) == 1:
        table = table.drop(columns="n")
    if "null" in frame:
        null = frame["null"].iloc[0]
        table["verdict"] = [
            PLACES[verdict].format(null=null) for verdict in table["verdict"]
        ]
    if "low" in table:
        effect = "difference" if "difference" in table else "value"
        table = with_interval(table, effect, "low", "high")
    return table.rename(columns=TITLES)


def forest(frame):
    """Figure of rows with their intervals: contrasts around zero with the margin, or means.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of `Scores.contrasts`, `Scores.between` or `Scores.estimates`. Rows of several parts
        of the data are drawn side by side.

    Returns
    -------
    matplotlib.figure.Figure
        A row for each label, with its interval; grey is undecided, or a control.

    Examples
    --------
    >>> from casebook import Scores
    >>> scores = Scores(pd.DataFrame({"a": [1, 2, 3, 4, 5, 6, 7]}), "points", "exam")
    >>> [axes.get_xlabel() for axes in forest(scores.estimates()).axes]
    ['points']
    """
    frame = frame[frame["n"] > 0]
    # n is below the figure.
    rows = frame.drop(columns="n").assign(part=frame["part"].replace("", "all"))
    rows["row"] = labels(frame)
    if len(set(frame["part"])) > 1 and len(set(labels(frame.drop(columns="part")))) > 1:
        rows["row"] = labels(frame.drop(columns="part"))
        rows["series"] = rows["part"]
    measures = frame["measure"].unique()
    label = (
        " and ".join(measures) if len(measures) <= 3 else f"{len(measures)} measures"
    )
    quantity = frame["quantity"].iloc[0]
    label += f", {quantity}" if quantity else ""
    if "tie_class" in rows:
        rows["colour"] = np.where(rows["tie_class"].isna(), plots.CONTROL, plots.OURS)
    if "of" in frame:
        label += ", {system_unit} minus {against_unit}".format(**frame.iloc[0])
    if kind(frame) == "contrasts":
        rows = rows.rename(columns={"difference": "value"})
        return plots.effects(rows, f"difference in {label}", frame["margin"].max())
    nulls = frame["null"].unique() if "null" in frame else ()
    reference = {"compared with": nulls[0]} if len(nulls) == 1 else None
    return plots.values(rows, label, reference)
