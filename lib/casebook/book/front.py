"""The front page: what this is and how to cite it, and the answers of all chapters, which they wrote themselves."""

import html
import math
import re
import subprocess

from casebook import __version__
from casebook.batch.run_folder import stored_record
from casebook.book.chapters import reproduce_line
from casebook.book.items import items_file
from casebook.book.titles import dataset_name, experiment_of
from casebook.paths import ROOT, run_dir
from casebook.readers import read_yaml
from casebook.runs.headlines import HELPS, HURTS, NO_EFFECT, read_headlines
from casebook.verdicts import NOT_MEASURED, UNDECIDED

VISIBLE = 3  # answers of one experiment; the others are folded
METHODS = {"factcheck_confusion": "factcheck"}  # pages that are not named after their experiment
_CLASSES = {
    HELPS: "helps",
    HURTS: "hurts",
    NO_EFFECT: "no-effect",
    UNDECIDED: "undecided",
    NOT_MEASURED: "not-measured",
}
_REMOTE = re.compile(
    r"(?:(?:https?|ssh)://(?:[^/@]*@)?|[\w-]+@)([\w.-]+\.\w+)(?::\d+/|[:/])(.+?)(?:\.git)?/?"
)
_STEPS = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)


# --- what this is, in one line


def completed(run, cells):
    """Give the day on which the last chapter of a run was completed, in words."""
    days = [
        record.completed
        for cell in cells
        if (record := stored_record(run, cell)) and record.completed
    ]
    return f"{max(days):%d %B %Y}".lstrip("0") if days else None


def citation():
    """Read how the book is cited, from CITATION.cff; empty without one."""
    path = ROOT / "CITATION.cff"
    return read_yaml(path, "citation") if path.is_file() else {}


def cite_as(cited):
    """Write a citation in one line."""
    who = ", ".join(
        a.get("name") or f"{a['family-names']} {a['given-names']}" for a in cited["authors"]
    )
    text = (
        f"{who} ({str(cited['date-released'])[:4]}). {cited['title']} (version {cited['version']})."
    )
    return f"{text} https://doi.org/{cited['doi']}" if "doi" in cited else text


def masthead(run, cells):
    """Write date, version, commit, repository, licence and how to cite."""
    cited = citation()
    day, commit = (
        completed(run, cells),
        _git("describe", "--always", "--dirty=, with changes", "--exclude=*"),
    )
    place = cited.get("repository-code") or web_address(_git("remote", "get-url", "origin") or "")
    parts = [
        html.escape(f"Run {run}{f', completed {day}' if day else ''}"),
        f"Version {__version__}",
    ]
    if commit:
        parts.append(f"Commit {html.escape(commit)}")
    if place:
        parts.append(f'<a href="{html.escape(place)}">Repository</a>')
    if cited:
        parts.append(f"Licence {html.escape(str(cited['license']))}")
        parts[-1] += f"<br>Cite as: {html.escape(cite_as(cited))}"
    return f'<p class="masthead">{" · ".join(parts)}</p>'


def web_address(remote):
    """Turn the address of a Git remote into one for browsers, without user and password; None of a folder."""
    found = _REMOTE.fullmatch(remote)
    return f"https://{found[1]}/{found[2]}" if found else None


def _git(*arguments):
    """Give what Git says of a checkout; nothing outside a checkout."""
    if not (ROOT / ".git").exists():
        return None
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=20, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


# --- the answers


def answers(run, cells, up="", visible=VISIBLE):
    """Write a row for each headline of some cells; of one experiment only so many are visible at first."""
    rows = [
        (cell, experiment_of(run, cell), headline)
        for cell in cells
        for headline in read_headlines(run, cell)
    ]
    if not rows:
        return "<p>No chapter of this run has reported an answer yet.</p>"
    limits = {}
    for *_, each in rows:
        axis = each.measure, each.null
        ends = [x for x in (each.value, each.low, each.high, each.margin) if x is not None]
        limits[axis] = max([limits.get(axis, 0), *map(abs, ends)])
    written, seen = {}, set()
    for cell, experiment, each in rows:
        # The first answer on each data set is visible, then what is decided, then the others.
        rank = 0 if cell not in seen else 1 if each.verdict in (HELPS, HURTS) else 2
        seen.add(cell)
        row = _row(run, cell, experiment, each, _nice(limits[each.measure, each.null]), up)
        written.setdefault(experiment, []).append((rank, row))
    shown, more = [], []
    for found in written.values():
        first = sorted(range(len(found)), key=lambda place: found[place][0])[:visible]
        for place, (_, row) in enumerate(found):
            (shown if place in first else more).append(row)
    text = f'<ul class="answers">{"".join(shown)}</ul>'
    if more:
        text += f'<details class="more-answers"><summary>{len(more)} more answer{"s" * (len(more) > 1)}</summary>'
        text += f'<ul class="answers">{"".join(more)}</ul></details>'
    return text


def method_page(experiment, named=None):
    """Give the address of the page on the method of an experiment."""
    page, _, anchor = (named or METHODS.get(experiment, experiment)).partition("#")
    page = page.removesuffix(".html").removesuffix(".md")
    page = page if (ROOT / "book" / "methods" / f"{page}.md").is_file() else "measures"
    return f"methods/{page}.html{f'#{anchor}' if anchor else ''}"


def _row(run, cell, experiment, each, limit, up):
    """Write the row of one headline."""
    names = f"{each.system} against {each.against}" if each.against else each.system
    about = f"{names}, {each.measure.rstrip(',')}; {dataset_name(each.dataset)}"
    measured = each.verdict != NOT_MEASURED
    picture = effect_drawing(each, limit) if measured else ""
    if measured and each.why:
        about += f". {'No interval' if each.low is None else 'Note'}: {each.why}"
    links = {
        "chapter": f"run/notebooks/{cell}.html",
        "method": method_page(experiment, each.method),
    }
    if (run_dir(run) / "rows" / f"{cell}.csv.gz").is_file():
        links["rows"] = f"rows/{cell}.csv.gz"
    if items_file(run, cell).is_file():
        links["item by item"] = f"generated/items/{cell}.html"
    linked = " ".join(
        f'<a href="{up}{html.escape(place)}">{label}</a>' for label, place in links.items()
    )
    within = f" (within ±{each.margin:.3g})" if each.verdict == NO_EFFECT and each.margin else ""
    result = each.effect if measured else each.why
    text = (
        f"<strong>{html.escape(each.question)}</strong> {html.escape(f'{each.answer}: {result}')}"
        f"<br><small>{html.escape(about)}</small>"
    )
    verdict = _CLASSES[each.verdict], each.word + within
    count = each.count if each.n else ""
    return answer_row(text, picture, verdict, count, f"{linked} {reproduce_line(run, cell, up)}")


def answer_row(text, picture, verdict, count, links):
    """Write a row of the front page; the verdict is a class of its colour, and a word."""
    kind, word = verdict
    return (
        f'<li class="answer-row"><div class="answer-text">{text}</div><div class="answer-effect">{picture}</div>'
        f'<div class="answer-count"><span class="verdict verdict-{kind}">{html.escape(word)}</span><br>'
        f'<small>{html.escape(count)}</small></div><div class="answer-links">{links}</div></li>\n'
    )


def _nice(limit):
    """Round the end of an axis up to a number that is easily read."""
    if not limit:
        return 1.0
    power = 10.0 ** math.floor(math.log10(limit))
    return next(step * power for step in _STEPS if step * power >= limit * (1 - 1e-9))


def effect_drawing(each, limit):
    """Draw an effect with its interval on an axis around zero; chance is a tick, the margin a band."""
    ticks = {
        place: f"{round(place + each.null, 2 if limit >= 0.1 else 4):zg}"
        for place in (-limit, 0, limit)
    }
    label = f"{each.effect} on an axis from {ticks[-limit]} to {ticks[limit]}"
    if each.margin:
        label += f"; differences below {each.margin:.3g} do not matter"
    if each.chance is not None:
        label += f"; chance {each.chance + each.null:.3g}"
    return drawing(
        [("", each.value, each.low, each.high, None)], ticks, label, each.margin, each.chance
    )


def drawing(lines, ticks, label, margin=0.0, chance=None):
    """Draw values with their intervals, a line each: (name, value, low, high, stated); ticks are place and text."""
    first, last, height = min(ticks), max(ticks), 16 * len(lines) + 4

    def x(value):
        return f"{25 + 210 * (min(max(value, first), last) - first) / ((last - first) or 1):.1f}"

    places = [10 + 16 * place for place in range(len(lines))]
    axes = "".join(f"M25 {y}H235" for y in places)
    marks = [f'<path class="axis" d="{axes}M{x(0)} 1V{height}"/>']
    if margin:
        width = float(x(margin)) - float(x(-margin))
        marks.insert(
            0,
            f'<rect class="band" x="{x(-margin)}" y="1" width="{width:.1f}" height="{height - 1}"/>',
        )
    if chance is not None and first <= chance <= last:
        marks.append(f'<path class="chance" d="M{x(chance)} 3V{height - 2}"/>')
    for y, (name, value, low, high, stated) in zip(places, lines, strict=True):
        if low is not None and high is not None:
            marks.append(f'<path class="interval" d="M{x(low)} {y}H{x(high)}"/>')
        if stated is not None:
            marks.append(f'<path class="stated-value" d="M{x(stated)} {y - 6}l5 6l-5 6l-5 -6z"/>')
        title = f"<title>{html.escape(name)}</title>" if name else ""
        marks.append(f'<circle class="value" cx="{x(value)}" cy="{y}" r="4">{title}</circle>')
    for place, text in ticks.items():
        if place in (first, last) or min(place - first, last - place) > 0.2 * (last - first):
            marks.append(
                f'<text x="{x(place)}" y="{height + 12}" text-anchor="middle">{text}</text>'
            )
    label = html.escape(label)
    return (
        f'<svg class="effect" viewBox="0 0 260 {height + 15}" role="img" aria-label="{label}"><title>{label}</title>'
        f"{''.join(marks)}</svg>"
    )
