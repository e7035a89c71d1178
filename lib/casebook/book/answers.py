"""The front page: what was evaluated, and a row for each question with a named dot a case.

The chapters wrote the headlines themselves; nothing is computed here.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import jinja2

from casebook.book.axis import effect_axis
from casebook.book.front import completed
from casebook.book.items import worse_items
from casebook.book.results import ChapterResults
from casebook.book.titles import dataset_name
from casebook.readers import read_yaml
from casebook.runs.headlines import HELPS, HURTS, NO_EFFECT, Headline, counted
from casebook.tables import enumerated
from casebook.verdicts import NO_DIFFERENCE, NOT_MEASURED, UNDECIDED

TOPICS = Path(__file__).with_name("topics.yml")
TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
MOST_ROWS = 10  # questions on the front page; further ones are named below them
MOST_DATASETS = 6  # that the first sentence names
NEAR = 0.15  # of an axis: a tick at zero that is nearer to an end is left out
CLASSES = {
    HELPS: "helps",
    HURTS: "hurts",
    NO_EFFECT: "no-effect",
    NO_DIFFERENCE: "no-effect",
    UNDECIDED: "undecided",
    NOT_MEASURED: "not-measured",
}
_STEPS = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)


@dataclass(frozen=True)
class Case:
    """A headline of a chapter: a dot of the front page."""

    chapter: ChapterResults
    headline: Headline

    @property
    def page(self):
        """The page of its chapter."""
        return f"run/notebooks/{self.chapter.cell}.html"

    @property
    def numbers(self):
        """Effect, interval, levels and count in one line."""
        headline = self.headline
        text = f"{headline.effect} {headline.measure.rstrip(',')}"
        if headline.level is not None and headline.baseline is not None:
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
        """Readers' names of the data sets, each once."""
        return list(dict.fromkeys(_data_of(case) for case in self.cases))

    def name_of(self, case):
        """What a case is of: its data set where the row has several, and its label."""
        label = case.headline.label
        data = _data_of(case)
        if label and (len(self.datasets) == 1 or data in label):
            return label
        return ": ".join(filter(None, [data, label]))

    @property
    def meaning(self):
        """The first case in plain words, or why nothing could be measured."""
        for case in self.cases:
            if case.headline.meaning:
                data = f"{self.name_of(case)}: " if len(self.datasets) > 1 else ""
                return f"{data}{case.headline.meaning}"
        if any(case.headline.verdict != NOT_MEASURED for case in self.cases):
            return ""
        return f"Not measured: {self.cases[0].headline.why or 'nothing was compared'}."


def _data_of(case):
    return dataset_name(case.headline.dataset).partition(",")[0].replace("_", " ")


def questions(chapters):
    """The headlines of a run by their topics, in the order of ``topics.yml``; others follow."""
    topics = read_yaml(TOPICS)
    cases = {topic: [] for topic in topics}
    for chapter in chapters:
        for number, headline in enumerate(chapter.headlines):
            topic = headline.topic or (chapter.cell, number)
            cases.setdefault(topic, []).append(Case(chapter, headline))
    rows = []
    for topic, group in cases.items():
        if group:
            about = topics.get(topic, {})
            question = topic if isinstance(topic, str) else group[0].headline.question
            question = about.get("question", question)
            name = about.get("name", question)
            rows.append(Question(question, name, group))
    own = [row for row in rows if row.name == row.question]
    return [*own, *[row for row in rows if row.name != row.question]]


def about(chapters):
    """What was evaluated, on which data and when, in one sentence of plain text."""
    rows = questions(chapters)
    datasets = list(dict.fromkeys(name for row in rows for name in row.datasets))
    more = len(datasets) - MOST_DATASETS
    names = [*datasets[:MOST_DATASETS], *([f"{more} more"] if more > 0 else [])]
    day = completed(chapters)
    when = f" (completed {day})" if day else ""
    asked = "one question" if len(rows) == 1 else f"{len(rows)} questions"
    answered = f"{asked} answered on {enumerated(names)}" if names else "no question answered"
    whom = "For those who build, buy or review legal and insurance AI"
    return f"{whom}: {answered}{when}."


def answers(chapters):
    """The rows of the front page."""
    rows = questions(chapters)
    if not rows:
        return "<p>No chapter of this run has reported an answer yet.</p>"
    shown = rows[:MOST_ROWS]
    axes = _axes([case.headline for row in shown for case in row.cases])
    found = [_row(row, axes) for row in shown]
    further = [{"name": row.name, "page": row.cases[0].page} for row in rows[MOST_ROWS:]]
    template = TEMPLATES.get_template("answers.html")
    return template.render(about=about(chapters), rows=found, further=further)


def _row(row, axes):
    """What the template shows of a question."""
    plots = {}
    for case in row.cases:
        plots.setdefault((case.headline.measure, case.headline.null), []).append(case)
    return {
        "question": row.question,
        "meaning": row.meaning,
        "worse": _worse_links(row),
        "plots": [_plot(row, cases, axes[key]) for key, cases in plots.items()],
    }


def _plot(row, cases, axis):
    """Cases of one measure on one axis, with what it measures and on how many units."""
    measured = [case for case in cases if case.headline.verdict != NOT_MEASURED]
    lanes = []
    above = None
    for case in cases:
        lane = _lane(row, case, axis)
        data = _data_of(case)
        if data == above and lane["name"].startswith(f"{data}: "):  # which stands once
            lane["shown"] = case.headline.label
        lanes.append(lane)
        above = data
    return {
        "lanes": lanes,
        "zero": axis.percent(0),
        "ticks": axis.spaced_ticks(NEAR) if measured else [],
        "about": _measure([case.headline for case in measured or cases]),
    }


def _lane(row, case, axis):
    """One case: its name, verdict and numbers, and where its marks lie."""
    headline = case.headline
    lane = {
        "name": row.name_of(case),
        "word": headline.word,
        "colour": CLASSES[headline.verdict],
        "page": case.page,
    }
    if headline.value is None:
        return lane
    lane["numbers"] = case.numbers
    lane["marks"] = axis.marks(headline.value, headline.low, headline.high)
    if headline.margin:
        lane["band"] = axis.percent(-headline.margin), axis.percent(headline.margin)
    if headline.chance is not None and headline.chance in axis:
        lane["chance"] = axis.percent(headline.chance)
    return lane


def _measure(headlines):
    """What an axis shows, and on how many units."""
    measure = headlines[0].measure.rstrip(",")
    counts = sorted({headline.n for headline in headlines})
    units = dict.fromkeys(headline.unit for headline in headlines)
    if len(counts) == 1:
        return f"{measure}, {counted(counts[0], ' or '.join(units))}"
    return f"{measure}, {counts[0]:,}–{counts[-1]:,} {' or '.join(units)}"


def _worse_links(row):
    """Links to the items that each chapter offers as made worse."""
    links = []
    for chapter in {case.chapter.cell: case.chapter for case in row.cases}.values():
        ready = worse_items(chapter)
        if ready:
            text, address, (count, asked) = ready
            where = f", {chapter.data_title}" if len(row.datasets) > 1 else ""
            text = f"{text}: {count} of {asked}{where}"
            links.append({"text": text, "page": f"generated/{address}"})
    return links


def _axes(headlines):
    """The axis that all effects of one measure share, by measure and null."""
    limits = {}
    for headline in headlines:
        key = (headline.measure, headline.null)
        values = [headline.value, headline.low, headline.high, headline.margin]
        lengths = [abs(value) for value in values if value is not None]
        limits[key] = max([limits.get(key, 0), *lengths])
    return {key: effect_axis(_round_up(limit), key[1]) for key, limit in limits.items()}


def _round_up(limit):
    """The end of an axis, rounded up to a number that is easily read."""
    if not limit:
        return 1.0
    power = 10.0 ** math.floor(math.log10(limit))
    return next(step * power for step in _STEPS if step * power >= limit * (1 - 1e-9))
