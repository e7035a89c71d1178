"""The front page: what was evaluated, and a row for each question with a named dot a case.

The chapters wrote the headlines themselves; nothing is computed here.
"""

import math
from dataclasses import dataclass
from pathlib import Path

from casebook.book.axis import effect_axis
from casebook.book.front import TEMPLATES, completed
from casebook.book.items import worse_items
from casebook.book.results import ChapterResults
from casebook.book.titles import dataset_name
from casebook.readers import read_yaml
from casebook.runs.headlines import HELPS, HURTS, NO_EFFECT, Headline, counted
from casebook.tables import enumerated
from casebook.verdicts import NO_DIFFERENCE, NOT_MEASURED, UNDECIDED

TOPICS = Path(__file__).with_name("topics.yml")
MOST_ROWS = 10  # questions on the front page; further ones are named below them
MOST_DATASETS = 4  # that the first sentence names
CLASSES = {
    HELPS: "helps",
    HURTS: "hurts",
    NO_EFFECT: "no-effect",
    NO_DIFFERENCE: "no-effect",
    UNDECIDED: "undecided",
    NOT_MEASURED: "not-measured",
}


@dataclass(frozen=True)
class Case:
    """A headline of a chapter."""

    chapter: ChapterResults
    headline: Headline

    @property
    def data(self):
        """The reader's name of its data set."""
        name = dataset_name(self.headline.dataset)
        return name.partition(",")[0].replace("_", " ")

    @property
    def page(self):
        return f"run/notebooks/{self.chapter.cell}.html"

    @property
    def numbers(self):
        headline = self.headline
        text = f"{headline.effect} {headline.measure.rstrip(',')}"
        if None not in (headline.level, headline.baseline):
            text += f", {headline.level:.3f} against {headline.baseline:.3f}"
        return f"{text} ({headline.count})"


@dataclass(frozen=True)
class Question:
    """A row of the front page: the headlines of one topic."""

    question: str
    name: str  # within a sentence
    cases: list

    @property
    def datasets(self):
        return list(dict.fromkeys(case.data for case in self.cases))

    @property
    def shown(self):
        """The first case of a chapter, measure, data set and verdict: what is a dot."""
        first = {}
        for case in self.cases:
            headline = case.headline
            key = (
                case.page,
                headline.measure,
                headline.null,
                case.data,
                headline.verdict,
            )
            first.setdefault(key, case)
        return list(first.values())

    def name_of(self, case):
        """What a case is of: its data set where the row has several, and its label."""
        label = case.headline.label
        if label and (len(self.datasets) == 1 or case.data in label):
            return label
        return f"{case.data}: {label}" if label else case.data

    @property
    def meaning(self):
        """The first case in plain words, or why nothing could be measured."""
        for case in self.cases:
            if case.headline.meaning:
                return f"{self.name_of(case)}: {case.headline.meaning}"
        if any(case.headline.verdict != NOT_MEASURED for case in self.cases):
            return ""
        return f"Not measured: {self.cases[0].headline.why or 'nothing was compared'}."


def questions(chapters):
    """The headlines of a run by their topics, in the order of ``topics.yml``; others first."""
    topics = read_yaml(TOPICS)
    groups = {topic: [] for topic in topics}
    for chapter in chapters:
        for number, headline in enumerate(chapter.headlines):
            topic = headline.topic or (chapter.cell, number)
            groups.setdefault(topic, []).append(Case(chapter, headline))
    listed = []
    own = []
    for topic, cases in groups.items():
        if topic not in topics:
            question = topic if isinstance(topic, str) else cases[0].headline.question
            own.append(Question(question, question, cases))
        elif cases:
            listed.append(Question(**topics[topic], cases=cases))
    return own + listed


def about(chapters):
    """What was evaluated, on which data and when, in one sentence of plain text."""
    rows = questions(chapters)
    names = list(dict.fromkeys(name for row in rows for name in row.datasets))
    if len(names) > MOST_DATASETS:
        names[MOST_DATASETS:] = [f"{len(names) - MOST_DATASETS} more"]
    answered = (
        f"{counted(len(rows), 'questions')} answered"
        if rows
        else "no question is answered"
    )
    where = f" on {enumerated(names)}" if names else ""
    day = completed(chapters)
    when = f" (completed {day})" if day else ""
    return f"For those who build, buy or review legal and insurance AI: {answered}{where}{when}."


def answers(chapters):
    rows = questions(chapters)
    shown = rows[:MOST_ROWS]
    limits = {}
    for row in shown:
        for case in row.shown:
            headline = case.headline
            values = [headline.value, headline.low, headline.high, headline.margin]
            lengths = [abs(value) for value in values if value is not None]
            key = (headline.measure, headline.null)
            limits[key] = max([limits.get(key, 0), *lengths])
    axes = {key: effect_axis(_round_up(limit), key[1]) for key, limit in limits.items()}
    template = TEMPLATES.get_template("answers.html")
    found = [_row(row, axes) for row in shown]
    return template.render(about=about(chapters), rows=found, further=rows[MOST_ROWS:])


def _row(row, axes):
    """What the template shows of a question."""
    plots = {}
    for case in row.shown:
        key = (case.headline.measure, case.headline.null)
        plot = plots.setdefault(key, {"axis": axes[key], "lanes": [], "cases": []})
        plot["cases"].append(case.headline)
        plot["lanes"].append(_lane(row, case))
    for plot in plots.values():
        plot["about"] = _measure(plot["cases"])
    return {
        "question": row.question,
        "meaning": row.meaning,
        "left": len(row.cases) - len(row.shown),
        "worse": _worse_links(row),
        "plots": list(plots.values()),
    }


def _lane(row, case):
    headline = case.headline
    return {
        "name": row.name_of(case),
        "word": headline.word,
        "colour": CLASSES[headline.verdict],
        "page": case.page,
        "numbers": "" if headline.value is None else case.numbers,
        "effect": headline.effect,
        "value": headline.value,
        "low": headline.low,
        "high": headline.high,
        "margin": headline.margin,
        "chance": headline.chance,
    }


def _measure(headlines):
    """What an axis shows, and on how many units."""
    measure = headlines[0].measure.rstrip(",")
    measured = [each for each in headlines if each.value is not None] or headlines
    counts = sorted({headline.n for headline in measured})
    units = " or ".join(dict.fromkeys(headline.unit for headline in measured))
    if len(counts) == 1:
        return f"{measure}, {counted(counts[0], units)}"
    return f"{measure}, {counts[0]:,}–{counts[-1]:,} {units}"


def _worse_links(row):
    """Links to the items that each chapter offers as made worse."""
    chapters = {case.chapter.cell: case.chapter for case in row.cases}
    for chapter in chapters.values():
        if ready := worse_items(chapter):
            several = len(row.datasets) > 1
            yield ready | {"data": chapter.data_title if several else None}


def _round_up(limit):
    """The end of an axis, rounded up to one digit."""
    if not limit:
        return 1.0
    power = 10.0 ** math.floor(math.log10(limit))
    return math.ceil(limit / power - 1e-9) * power
