"""The answers of a run: a row for each question on the front page, and one for each headline.

The chapters wrote the headlines themselves; nothing is computed here.
"""

import html
import math
from dataclasses import dataclass
from pathlib import Path

from casebook.book.axis import effect_axis
from casebook.book.chapters import reproduce_line
from casebook.book.items import worse_items
from casebook.book.results import ChapterResults
from casebook.book.titles import dataset_name
from casebook.paths import SHIPPED, run_dir
from casebook.readers import read_yaml
from casebook.runs.headlines import HELPS, HURTS, NO_EFFECT, Headline, counted
from casebook.verdicts import NO_DIFFERENCE, NOT_MEASURED, UNDECIDED

TOPICS = Path(__file__).with_name("topics.yml")
METHODS = dict.fromkeys(
    ["factcheck_confusion", "factcheck_parts", "factcheck_transfer"], "factcheck"
)  # pages that are not named after their experiment
MOST_NAMES = 2  # of the cases of a verdict, in a row with several
MOST_NAMED_CASES = 3  # a row with more names only those that are worse
NEAR = 0.15  # of an axis: a tick at zero that is nearer to an end is left out
MOST_LETTERS = 200  # of what the numbers of a row mean
CLASSES = {
    HELPS: "helps",
    HURTS: "hurts",
    NO_EFFECT: "no-effect",
    NO_DIFFERENCE: "no-effect",
    UNDECIDED: "undecided",
    NOT_MEASURED: "not-measured",
}
YES = "yes"
NO = "no"
MIXED = "it depends"
OUTCOMES = (YES, NO, MIXED, UNDECIDED, NOT_MEASURED)
_STEPS = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)


# --- questions and their cases


@dataclass(frozen=True)
class Case:
    """A headline of a chapter: a dot of the front page."""

    chapter: ChapterResults
    headline: Headline


@dataclass(frozen=True)
class Question:
    """A row of the front page: the headlines of one topic."""

    question: str
    name: str | None  # within a sentence
    yes: str  # the verdict that means yes
    worse: str  # the verdict that is unfavourable
    cases: list

    @property
    def outcome(self):
        """The answer to the question, from the verdicts of all cases that could be measured."""
        verdicts = {case.headline.verdict for case in self.cases} - {NOT_MEASURED}
        if not verdicts:
            return NOT_MEASURED
        if verdicts == {self.yes}:
            return YES
        if self.yes in verdicts:
            return MIXED
        # Where nothing says yes, one case that says no decides.
        is_undecided = UNDECIDED in verdicts and verdicts <= {UNDECIDED, NO_EFFECT, NO_DIFFERENCE}
        return UNDECIDED if is_undecided else NO

    def colour(self, verdict):
        """Give the class of a verdict, by which the unfavourable one stands out."""
        swapped = {HELPS: HURTS, HURTS: HELPS} if self.worse == HELPS else {}
        return CLASSES[swapped.get(verdict, verdict)]

    def name_of(self, case):
        """Name a case by what tells it from the others of the row: label, data set or both."""
        label = case.headline.label
        data = dataset_name(case.headline.dataset).partition(",")[0]
        if label and [other.headline.label for other in self.cases].count(label) == 1:
            return label
        return f"{data}, {label}" if label else data


def questions(chapters):
    """Group the headlines of a run by their topics, in the order of ``topics.yml``."""
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
            yes = about.get("affirmative") or _yes(group[0].headline)
            worse = about.get("worse", HURTS)
            rows.append(Question(question, about.get("name"), yes, worse, group))
    return rows


def _yes(headline):
    """Give the verdict that means yes to the question of a headline, by its own words."""
    answers = headline.answers or {}
    is_reversed = answers.get(HURTS, "").startswith("Yes") or answers.get(HELPS, "").startswith(
        "No"
    )
    return HURTS if is_reversed else HELPS


def finding(chapters):
    """Say in one sentence what was found: the questions of a run by their outcomes."""
    rows = questions(chapters)
    if not rows:
        return ""
    parts = []
    for outcome in OUTCOMES:
        group = [row for row in rows if row.outcome == outcome]
        names = [html.escape(row.name) for row in group if row.name]
        unnamed = len(group) - len(names)
        if unnamed and names:
            names.append(f"{unnamed} more")
        elif unnamed:
            names.append(f"{unnamed} question{'s' if unnamed > 1 else ''}")
        if names:
            word = outcome[0].upper() + outcome[1:]
            parts.append(f"<strong>{word}</strong>: {', '.join(names)}.")
    asked = f"{len(rows)} question{'s' if len(rows) > 1 else ''}"
    return f'<p class="found">{asked}. {" ".join(parts)}</p>'


# --- the front page: a row for each question


def answers(chapters):
    """Write a row for each question, with its cases as dots."""
    rows = questions(chapters)
    if not rows:
        return "<p>No chapter of this run has reported an answer yet.</p>"
    axes = _axes([case.headline for row in rows for case in row.cases])
    markup = "".join(_question_row(row, axes) for row in rows)
    return f'<ul class="questions">{markup}</ul>'


def _question_row(row, axes):
    """Write the row of one question."""
    meaning = _meaning(row)
    text = f"<strong>{html.escape(row.question)}</strong>"
    if meaning:
        text += f'<div class="meaning">{meaning}</div>'
    cases_by_axis = {}
    for case in row.cases:
        if case.headline.verdict != NOT_MEASURED:
            key = case.headline.measure, case.headline.null
            cases_by_axis.setdefault(key, []).append(case)
    links = _pages(row.cases[0])
    pictures = "".join(
        _dots(row, cases, axes[key], links["chapter"]) for key, cases in cases_by_axis.items()
    )
    details = "".join(_row(case, axes) for case in row.cases)
    return (
        f'<li class="question-row"><div class="answer-text">{text}</div>'
        f'<div class="answer-effect">{pictures}</div>'
        f'<div class="answer-verdict">{_verdicts(row)}{_worse_links(row)}</div>'
        f'<div class="answer-links">{_as_links(links)}'
        f'<details class="cases"><summary>numbers</summary><ul class="answers">{details}</ul>'
        "</details></div></li>\n"
    )


def _meaning(row):
    """Say what the first headlines of a row mean, those of one chapter and data set."""
    cases = [case for case in row.cases if case.headline.meaning]
    if not cases:
        return html.escape(_why(row))
    first = cases[0]
    texts = []
    for case in cases:
        is_of_first = (
            case.chapter is first.chapter and case.headline.dataset == first.headline.dataset
        )
        meaning = case.headline.meaning
        n_letters = len(meaning) + sum(len(text) + 1 for text in texts)
        if is_of_first and n_letters <= MOST_LETTERS and meaning not in texts:
            texts.append(meaning)
    if texts and len({case.headline.dataset for case in row.cases}) > 1:
        texts[0] = f"{dataset_name(first.headline.dataset)}: {texts[0]}"
    return "".join([*map(html.escape, texts[:1]), *(_detail(f" {text}") for text in texts[1:])])


def _detail(text):
    """Mark what a small screen leaves to the chapter."""
    return f'<span class="detail">{html.escape(text)}</span>'


def _why(row):
    """Say why nothing could be measured, or nothing where something was."""
    headlines = [case.headline for case in row.cases]
    if any(headline.verdict != NOT_MEASURED for headline in headlines):
        return ""
    reasons = dict.fromkeys(headline.why or "nothing was compared" for headline in headlines)
    text = "; ".join(reasons)
    return f"{text[0].upper()}{text[1:]}."


def _verdicts(row):
    """Write the verdicts of a row in words, each as large as the others."""
    groups = {}
    for verdict in CLASSES:
        for case in row.cases:
            if case.headline.verdict == verdict:
                groups.setdefault((verdict, case.headline.word), []).append(row.name_of(case))
    return "".join(
        f'<div class="verdict verdict-{row.colour(verdict)}">'
        f"{_verdict_text(word, names, row.colour(verdict), len(row.cases))}</div>"
        for (verdict, word), names in groups.items()
    )


def _verdict_text(word, names, colour, n_cases):
    """Count the cases of a verdict; those that are worse are named, and of few cases all are."""
    text = html.escape(word)
    if n_cases == 1:
        return text
    if len(names) == n_cases:
        return f"{text} in all {n_cases}"
    is_named = colour == CLASSES[HURTS] or n_cases <= MOST_NAMED_CASES
    if colour == CLASSES[HELPS] or len(names) > 1 or not is_named:
        text += f" in {len(names)} of {n_cases}"
    if is_named:
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        text += f": <span>{html.escape('; '.join(names[:MOST_NAMES]))}{more}</span>"
    return text


def _dots(row, cases, axis, page):
    """Draw cases of one measure on one axis, each a link to its chapter that names it."""
    texts = list(axis.ticks.values())
    measure = cases[0].headline.measure.rstrip(",")
    label = html.escape(f"{measure}, on an axis from {texts[0]} to {texts[-1]}")
    lanes = "".join(_dot(row, case, axis) for case in cases)
    # On a small screen the plot is touched as a whole; its dots stay in reach of the keyboard.
    link = f'<a class="touch" href="{html.escape(page)}" aria-hidden="true" tabindex="-1"></a>'
    ticks = "".join(
        f'<span style="left:{axis.percent(position)}">{text}</span>'
        for position, text in axis.spaced_ticks(NEAR).items()
    )
    return (
        f'<div class="dots" role="group" aria-label="{label}"><div class="plot">'
        f'<div class="lanes" style="--zero:{axis.percent(0)}">{lanes}</div>'
        f'<div class="ticks" aria-hidden="true">{ticks}</div>{link}</div>'
        f"<small>{_levels(cases)}</small></div>"
    )


def _dot(row, case, axis):
    """Draw one case: its margin, chance, interval and value, and its numbers as its name."""
    headline = case.headline
    percent = axis.percent
    name = ", ".join(filter(None, [dataset_name(headline.dataset), headline.label]))
    low = headline.value if headline.low is None else headline.low
    high = headline.value if headline.high is None else headline.high
    style = f"--value:{percent(headline.value)};--low:{percent(low)};--high:{percent(high)}"
    marks = ""
    if headline.margin:
        ends = f"left:{percent(-headline.margin)};right:calc(100% - {percent(headline.margin)})"
        marks += f'<i class="band" style="{ends}"></i>'
    if headline.chance is not None and headline.chance in axis:
        marks += f'<i class="chance" style="left:{percent(headline.chance)}"></i>'
    return (
        f'<a class="dot dot-{row.colour(headline.verdict)}" style="{style}" '
        f'href="run/notebooks/{html.escape(case.chapter.cell)}.html">{marks}'
        f'<span class="name">{html.escape(_numbers(name, headline))}</span></a>'
    )


def _numbers(name, headline):
    """Write the numbers of a dot in one line."""
    text = f"{name}: {headline.word}, {headline.effect} {headline.measure.rstrip(',')}"
    if headline.level is not None and headline.baseline is not None:
        text += f", {headline.level:.3f} against {headline.baseline:.3f}"
    return f"{text} ({headline.count})"


def _levels(cases):
    """Write measure, levels of the systems and of their baselines, and the number of units."""
    headlines = [case.headline for case in cases]
    first = headlines[0]
    measure = html.escape(first.measure.rstrip(","))
    levels = [headline.level for headline in headlines]
    baselines = [headline.baseline for headline in headlines]
    has_levels = None not in levels and None not in baselines
    text = measure
    if len(headlines) == 1:
        effect = f"{first.effect} "
        text = (_detail(effect) if has_levels else html.escape(effect)) + measure
    if has_levels:
        text += f": {_span(levels, '.2f')} against {_span(baselines, '.2f')}"
    return f"{text} ({_count(headlines)})"


def _count(headlines):
    """Write the number of units, of one headline with the groups that they are in."""
    first = headlines[0]
    if len(headlines) == 1:
        units = counted(first.n, first.unit)
        return html.escape(units) + _detail(first.count.removeprefix(units))
    units = dict.fromkeys(headline.unit for headline in headlines)
    return html.escape(f"{_span([h.n for h in headlines], ',')} {' or '.join(units)}")


def _span(values, spec):
    """Write the least and the largest of some numbers, or the only one."""
    ends = dict.fromkeys(f"{value:{spec}}" for value in (min(values), max(values)))
    return "–".join(ends)


def _pages(case):
    """Give the pages of a headline: its chapter, its method, its items if there are any."""
    cell = case.chapter.cell
    pages = {
        "chapter": f"run/notebooks/{cell}.html",
        "method": method_page(case.chapter.experiment, case.headline.method),
    }
    if case.chapter.items is not None:
        pages["items"] = f"generated/items/{cell}.html"
    return pages


def _worse_links(row):
    """Link to the items that each chapter offers as made worse, the worst one open."""
    links = []
    for chapter in {case.chapter.cell: case.chapter for case in row.cases}.values():
        ready = worse_items(chapter)
        if ready:
            text, address, (count, asked) = ready
            beginning, _, end = text.rpartition(" worse")  # all that a small screen has room for
            name = f"<span>{html.escape(beginning)} </span>worse{html.escape(end)}"
            where = f": {count} of {asked}"
            if len(row.cases) > 1 and chapter.data_title:
                where += f", {html.escape(chapter.data_title)}"
            links.append(
                f'<a class="worse" href="generated/{html.escape(address)}">{name}{where}</a>'
            )
    return "".join(links)


# --- a row for each headline


def _axes(headlines):
    """Give the axis that all effects of one measure share, by measure and null."""
    limits = {}
    for headline in headlines:
        key = (headline.measure, headline.null)
        values = [headline.value, headline.low, headline.high, headline.margin]
        lengths = [abs(value) for value in values if value is not None]
        limits[key] = max([limits.get(key, 0), *lengths])
    return {key: effect_axis(_round_up(limit), key[1]) for key, limit in limits.items()}


def method_page(experiment, page=None):
    """Give the address of the page on the method of an experiment, or of a page with an anchor."""
    name, _, anchor = (page or METHODS.get(experiment, experiment)).partition("#")
    name = name.removesuffix(".html").removesuffix(".md")
    if not (SHIPPED / "book" / "methods" / f"{name}.md").is_file():
        name = "measures"
    return f"methods/{name}.html#{anchor}" if anchor else f"methods/{name}.html"


def _row(case, axes):
    """Write the row of one headline."""
    headline = case.headline
    is_measured = headline.verdict != NOT_MEASURED
    result = headline.effect if is_measured else headline.why
    answer = html.escape(f"{headline.answer}: {result}")
    subject = html.escape(_subject(headline, is_measured))
    text = f"<strong>{html.escape(headline.question)}</strong> {answer}<br><small>{subject}</small>"
    word = headline.word
    if headline.verdict == NO_EFFECT and headline.margin:
        word += f" (within ±{headline.margin:.3g})"
    axis = axes[headline.measure, headline.null]
    return answer_row(
        text,
        effect_drawing(headline, axis) if is_measured else "",
        (CLASSES[headline.verdict], word),
        headline.count if headline.n else "",
        f"{_links(case)} {reproduce_line(case.chapter)}",
    )


def _subject(headline, is_measured):
    """Name systems, measure and data set, and why the interval is missing or is by unit."""
    systems = headline.system
    if headline.against:
        systems = f"{headline.system} against {headline.against}"
    subject = f"{systems}, {headline.measure.rstrip(',')}; {dataset_name(headline.dataset)}"
    if is_measured and headline.why:
        subject += f". {'No interval' if headline.low is None else 'Note'}: {headline.why}"
    return subject


def _links(case):
    pages = _pages(case)
    rows = f"rows/{case.chapter.cell}.csv.gz"
    if (run_dir(case.chapter.run) / rows).is_file():
        pages["rows"] = rows
    return _as_links(pages)


def _as_links(pages):
    return " ".join(f'<a href="{html.escape(page)}">{label}</a>' for label, page in pages.items())


def answer_row(text, picture, verdict, count, links):
    """Write a row of the front page; the verdict is a class of its colour, and a word."""
    colour, word = verdict
    return (
        f'<li class="answer-row"><div class="answer-text">{text}</div>'
        f'<div class="answer-effect">{picture}</div>'
        f'<div class="answer-count">'
        f'<span class="verdict verdict-{colour}">{html.escape(word)}</span><br>'
        f"<small>{html.escape(count)}</small></div>"
        f'<div class="answer-links">{links}</div></li>\n'
    )


def _round_up(limit):
    """Round the end of an axis up to a number that is easily read."""
    if not limit:
        return 1.0
    power = 10.0 ** math.floor(math.log10(limit))
    return next(step * power for step in _STEPS if step * power >= limit * (1 - 1e-9))


def effect_drawing(headline, axis):
    """Draw an effect with its interval around zero; chance is a tick, the margin a band."""
    texts = list(axis.ticks.values())
    label = f"{headline.effect} on an axis from {texts[0]} to {texts[-1]}"
    if headline.margin:
        label += f"; differences below {headline.margin:.3g} do not matter"
    if headline.chance is not None:
        label += f"; chance {headline.chance + headline.null:.3g}"
    line = ("", headline.value, headline.low, headline.high, None)
    return drawing([line], axis, label, headline.margin, headline.chance)


def drawing(lines, axis, label, margin=0.0, chance=None):
    """Draw values with their intervals; a line is (name, value, low, high, stated value)."""
    height = 16 * len(lines) + 4

    def x(value):
        return f"{25 + 210 * axis.share(value):.1f}"

    marks = []
    if margin:
        width = float(x(margin)) - float(x(-margin))
        size = f'y="1" width="{width:.1f}" height="{height - 1}"'
        marks.append(f'<rect class="band" x="{x(-margin)}" {size}/>')
    heights = [10 + 16 * k for k in range(len(lines))]
    axes = "".join(f"M25 {y}H235" for y in heights)
    marks.append(f'<path class="axis" d="{axes}M{x(0)} 1V{height}"/>')
    if chance is not None and chance in axis:
        marks.append(f'<path class="chance" d="M{x(chance)} 3V{height - 2}"/>')
    for y, (name, value, low, high, stated) in zip(heights, lines, strict=True):
        if low is not None and high is not None:
            marks.append(f'<path class="interval" d="M{x(low)} {y}H{x(high)}"/>')
        if stated is not None:
            marks.append(f'<path class="stated-value" d="M{x(stated)} {y - 6}l5 6l-5 6l-5 -6z"/>')
        title = f"<title>{html.escape(name)}</title>" if name else ""
        marks.append(f'<circle class="value" cx="{x(value)}" cy="{y}" r="4">{title}</circle>')
    for position, text in axis.spaced_ticks(room=0.2).items():
        anchor = f'x="{x(position)}" y="{height + 12}" text-anchor="middle"'
        marks.append(f"<text {anchor}>{text}</text>")
    label = html.escape(label)
    return (
        f'<svg class="effect" viewBox="0 0 260 {height + 15}" role="img" aria-label="{label}">'
        f"<title>{label}</title>{''.join(marks)}</svg>"
    )
