"""What a chapter says: answers, figures, tables and kept numbers, under readers' names.

Each call replaces what the same call wrote before, so that any cell can be run twice.
"""

import functools
from pathlib import Path

import pandas as pd
from IPython.display import display

from casebook.errors import InputError
from casebook.readers import read_yaml
from casebook.runs.headlines import Headline
from casebook.runs.leaderboard import measure_table
from casebook.runs.outputs import Markdown, RunOutputs, number
from casebook.tables import Table, p_value, with_interval, with_intervals
from casebook.verdicts import HIGHER, LOWER

TITLES = Path(__file__).with_name("titles.yml")
SYSTEM_COLUMNS = ("system", "against")
ALL_CHAPTERS = "all"
ONLY_DRAWN = ("address", "colour")  # columns of a frame that say how it is drawn
P_VALUES = ("p", "p_adjusted", "p_holm", "p_val")
NEUTRAL_WORDS = {"better": HIGHER, "worse": LOWER}


class Chapter:
    """The outputs of one notebook.

    Parameters
    ----------
    run, cell : str
        Outputs go to ``results/<run>``, in files named after the cell.
    experiment : str
        First key of ``numbers.json`` and ``contrasts.json``.
    data : dataset or str
        What `casebook.data.load` gives: its name is the second key of both, its key the data set of
        the answers, its cluster what dependent units belong to. Or one name for both.
    cluster : str, optional
        What a group of dependent units is, in the plural, such as "contracts"; by default that of
        the data.
    unit : str, default "questions"
        What a row of the scores is, in the plural.
    names : dict, optional
        Readers' names of systems; a system without one keeps its own.
    words : dict, optional
        Readers' names of the values of other columns of tables, by column.

    Examples
    --------
    >>> chapter = Chapter("scratch", "mine", "my_experiment", "smoke", names={"bm25": "BM25"})
    >>> chapter.name("bm25"), chapter.name("dense")
    ('BM25', 'dense')
    """

    def __init__(
        self,
        run,
        cell,
        experiment,
        data,
        *,
        cluster=None,
        unit="questions",
        names=None,
        words=None,
    ):
        self.outputs = RunOutputs(run, cell)
        self.experiment = experiment
        self.dataset = getattr(data, "name", data)
        self.data_key = getattr(data, "key", data)
        self.cluster = cluster or getattr(data, "cluster", None)
        self.unit = unit
        by_kind = chapter_titles(experiment)
        self.titles = by_kind["columns"]
        self.fixed_answers = by_kind["answers"]
        self.names = by_kind["systems"] | (names or {})
        self.words = by_kind["words"] | (words or {})
        self._answers = {}
        self._numbers = {}
        self._contrasts = {}

    def name(self, system):
        """The reader's name of a system."""
        return self.names.get(system, system)

    # --- answers

    @property
    def headlines(self):
        """The answers so far, in their order."""
        return list(self._answers.values())

    def answer(self, question, row, about=None, **fields):
        """Answer a question by a row of `contrasts` or of `estimates`.

        The row gives effect, interval, counts, verdict and the names of both systems; ``fields``
        are those of `casebook.runs.headlines.Headline` (``measure`` at least) and go before what
        the row and the chapter say. ``about`` names those that depend on nothing, such as topic,
        label and words by verdict, below ``answers`` of the chapter in titles.yml. Without a row
        (None), ``value`` is given as a field; None says that nothing could be measured.
        """
        common = {"dataset": self.data_key, "cluster": self.cluster, "unit": self.unit}
        if about is not None:
            common |= self._fixed_answer(about)
        if row is None:
            answer = Headline(question, **common | fields)
        else:
            systems = {
                column: self.name(row[column])
                for column in SYSTEM_COLUMNS
                if isinstance(row.get(column), str)
            }
            answer = Headline.of(row, question, **common | systems | fields)
        self._answers[question] = answer
        self.outputs.headlines(*self.headlines)
        return answer

    def _fixed_answer(self, about):
        if about not in self.fixed_answers:
            raise InputError(
                f"titles.yml has no answer {about!r} of experiment {self.experiment!r}: give "
                "topic, label and words here"
            )
        return self.fixed_answers[about]

    def answers(self, bullets=()):
        """Show all answers, the first in bold, and below them what else a reader has to know.

        Three bullets stand open, answers that are worse among them; the others are folded.
        """
        return self.outputs.headlines(*self.headlines, bullets=list(bullets))

    # --- figures and tables

    def draw(self, name, figure, caption, frame=None, *, finding=None, alt=None):
        """Keep a figure with the frame that it was drawn from, and show it.

        ``finding`` is the figure's title: what it shows, in one sentence made from the numbers that
        were drawn. Columns that only say how a row is drawn are not kept.
        """
        if frame is not None:
            frame = frame.drop(columns=list(ONLY_DRAWN), errors="ignore")
        display(self.outputs.figure(name, figure, caption, frame, alt, finding=finding))

    def item_page(self, cell=None, **choice):
        """Give the address of items, this chapter's or a cell's, as `RunOutputs.item_page` does."""
        return self.outputs.item_page(cell, **choice)

    def item_pages(self, **choice):
        """The addresses of the items behind rows, as `item_page` gives them.

        A choice is one value for all rows or a column of values; a missing value chooses nothing.
        """
        rows = pd.DataFrame(choice, dtype=object)
        pages = [self.item_page(**row.dropna()) for _, row in rows.iterrows()]
        return pd.Series(pages, rows.index, dtype=object)

    def show(self, name, frame, caption, *, timed=False, **options):
        """Keep a frame as it is, and show it as `display` does, with its options.

        A frame of measured times (``timed``) is kept apart from what reruns must reproduce.
        """
        if timed:
            self.outputs.timing(name, frame)
        else:
            self.outputs.table(name, frame)
        self.display(frame, caption, **options)

    def display(self, frame, caption, *, columns=None, titles=None, digits=3, formats=None):
        """Show a frame, some of its columns, or the items of a dict, under readers' names.

        A value that is followed by its bounds (``low`` and ``high``, or ``<value> low`` and
        ``<value> high``) is one column. Names of systems and titles of columns are readers' names;
        ``titles`` adds to those of the chapters. A column ``reason`` that says nothing is left out.
        """
        if isinstance(frame, dict):
            frame = pd.DataFrame(frame.items(), columns=["item", "value"], dtype=object)
        table = self.named(frame if columns is None else frame[list(columns)])
        titles = self.titles | (titles or {})
        formats = dict.fromkeys(P_VALUES, p_value) | (formats or {})
        formats |= {titles[column]: text for column, text in formats.items() if column in titles}
        if "reason" in table:
            reasons = table["reason"].mask(table["reason"] == "")
            if reasons.isna().all():
                table = table.drop(columns="reason")
        if {"low", "high"} <= set(table):
            value = table.columns[table.columns.get_loc("low") - 1]
            table = with_interval(table, value, "low", "high", digits)
        table = with_intervals(table, digits).rename(columns=titles)
        display(Table(table, caption, digits, formats))

    def named(self, frame):
        """Give a frame with readers' names of systems, and of values of other columns."""
        names = dict.fromkeys(SYSTEM_COLUMNS, self.names) | self.words
        table = frame.copy()
        for column in table.columns.intersection(list(names)):
            table[column] = [names[column].get(value, value) for value in table[column]]
        return table

    def skip(self, caption, reason):
        """Say why a table or a figure is not here."""
        display(Markdown(f"*{caption}*: not here, because {reason}."))

    # --- what is kept

    def keep(
        self,
        *,
        rows=None,
        items=None,
        tables=None,
        estimates=None,
        contrasts=None,
        numbers=None,
        measure=None,
        dataset=None,
    ):
        """Keep what other pages and later comparisons read.

        Parameters
        ----------
        rows : pandas.DataFrame, optional
            Scores of every unit.
        items : dict, optional
            Single questions or claims, for a page of their own: see `item_page`.
        tables : dict, optional
            Name to a frame that readers can download, where `display` shows it in another form.
        estimates, contrasts : pandas.DataFrame, optional
            Frames of `casebook.estimates` and `casebook.contrasts` of one ``measure``.
        numbers : dict, optional
            System to measure to a number, as they stand in ``numbers.json``.
        measure : str, optional
            Measure of the estimates and contrasts.
        dataset : str, optional
            Another data set than the chapter's.
        """
        dataset = dataset or self.dataset
        if rows is not None:
            self.outputs.rows(rows)
        if items is not None:
            self.outputs.items(items | {"systems": self._distinct_names(items["systems"])})
        for name, table in (tables or {}).items():
            self.outputs.table(name, table)
        if estimates is not None:
            numbers = {
                row["system"]: {measure: number(row)} for row in estimates.to_dict("records")
            } | (numbers or {})
        if numbers is not None:
            systems = self._numbers.setdefault(dataset, {})
            for system, measures in numbers.items():
                systems.setdefault(system, {}).update(measures)
            self.outputs.numbers(self.experiment, self._numbers)
        if contrasts is not None:
            self._contrasts.setdefault(dataset, {})[measure] = contrasts
            self.outputs.contrasts(self.experiment, self._contrasts)

    def leaderboard(
        self,
        levels,
        contrasts,
        *,
        baseline,
        protocol,
        controls=(),
        groups=None,
        margins=None,
        titles=None,
        dataset=None,
        milliseconds=None,
        timing=None,
        neutral=(),
    ):
        """Keep what the page needs on which a reader compares any two systems.

        Parameters
        ----------
        levels : dict
            System to measure to a number, as they stand in ``numbers.json``; these are the systems.
        contrasts : dict
            Measure to a frame of `casebook.frames.all_contrasts`, the first measure first.
        baseline : str
            System that the others are compared with until a reader chooses another one.
        protocol : str
            A sentence: which units, held out from what.
        controls : sequence of str
            Systems that know nothing.
        groups : dict, optional
            Name of a choice of systems, such as "Own systems", to the systems.
        margins : dict, optional
            Measure to the largest difference that does not matter, where one was declared.
        titles : dict, optional
            Measure to the name that readers see.
        dataset : str, optional
            Another data set than the chapter's.
        milliseconds : dict, optional
            System to its time for a unit; kept apart from what reruns must reproduce.
        timing : str, optional
            What the milliseconds are, and what they leave out: "the processor time of a question".
        neutral : sequence of str
            Measures of which more is neither better nor worse: units are higher or lower.
        """
        systems = list(levels)
        titles = titles or {}
        margins = margins or {}
        measures = []
        for measure, rows in contrasts.items():
            of_measure = {system: numbers.get(measure) for system, numbers in levels.items()}
            title = titles.get(measure, measure)
            table = measure_table(title, systems, of_measure, rows, margins.get(measure))
            measures.append(table | ({"words": NEUTRAL_WORDS} if measure in neutral else {}))
        self.outputs.leaderboard(
            systems,
            self._distinct_names(systems),
            baseline,
            controls,
            groups,
            milliseconds,
            timing,
            dataset=dataset or self.dataset,
            unit=self.unit,
            cluster=self.cluster,
            protocol=protocol,
            measures=measures,
        )

    def _distinct_names(self, systems):
        """Give readers' names; of equal names the later ones get that of the system, too."""
        names = []
        for system in systems:
            name = self.name(system)
            names.append(f"{name} ({system})" if name in names else name)
        return names


@functools.cache
def chapter_titles(experiment):
    """Read readers' names of columns, systems and other values: of all chapters, and of one."""
    titles = read_yaml(TITLES)
    of_chapter = titles.get(experiment, {})
    return {
        "columns": titles[ALL_CHAPTERS]["columns"] | of_chapter.get("columns", {}),
        "systems": of_chapter.get("systems", {}),
        "words": of_chapter.get("words", {}),
        "answers": of_chapter.get("answers", {}),
    }
