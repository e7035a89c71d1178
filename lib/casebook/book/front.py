"""The front page: what this is and how to cite it, and the answers of all chapters.

The chapters wrote the answers themselves; nothing is computed here.
"""

import html
import math
import re
import subprocess

from casebook import __version__
from casebook.batch.run_folder import stored_record
from casebook.book.chapters import reproduce_line
from casebook.book.items import items_file
from casebook.book.titles import dataset_name, experiment_of
from casebook.paths import CONFIGURATION, ROOT, SHIPPED, run_dir
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
    records = filter(None, (stored_record(run, cell) for cell in cells))
    days = [record.completed for record in records if record.completed]
    return f"{max(days):%d %B %Y}".lstrip("0") if days else None


def configuration():
    """Read the settings of the book: those of a project complete what is shipped."""
    settings = read_yaml(SHIPPED / CONFIGURATION, "configuration")
    return _completed_by(settings, read_yaml(ROOT / CONFIGURATION, "configuration"))


def _completed_by(settings, changes):
    """Give settings with changes at any depth; a list is replaced as a whole."""
    merged = dict(settings)
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(settings.get(name), dict):
            value = _completed_by(settings[name], value)
        merged[name] = value
    return merged


def citation():
    """Read how the book is cited, from CITATION.cff; empty without one."""
    path = ROOT / "CITATION.cff"
    return read_yaml(path, "citation") if path.is_file() else {}


def cite_as(cited):
    """Write a citation in one line."""
    authors = ", ".join(
        author.get("name") or f"{author['family-names']} {author['given-names']}"
        for author in cited["authors"]
    )
    year = str(cited["date-released"])[:4]
    text = f"{authors} ({year}). {cited['title']} (version {cited['version']})."
    return f"{text} https://doi.org/{cited['doi']}" if "doi" in cited else text


def masthead(run, cells):
    """Write date, version, commit, repository, licence and how to cite."""
    cited = citation()
    day = completed(run, cells)
    commit = _git("describe", "--always", "--dirty=, with changes", "--exclude=*")
    origin = _git("remote", "get-url", "origin") or ""
    repository = cited.get("repository-code") or web_address(origin)
    title = f"Run {run}, completed {day}" if day else f"Run {run}"
    software = "Version" if ROOT == SHIPPED else "Casebook"
    parts = [html.escape(title), f"{software} {__version__}"]
    if commit:
        parts.append(f"Commit {html.escape(commit)}")
    if repository:
        parts.append(f'<a href="{html.escape(repository)}">Repository</a>')
    if "license" in cited:
        parts.append(f"Licence {html.escape(str(cited['license']))}")
    citing = f"<br>Cite as: {html.escape(cite_as(cited))}" if cited else ""
    return f'<p class="masthead">{" · ".join(parts)}{citing}</p>'


def web_address(remote):
    """Turn the address of a Git remote into one for browsers, without user and password.

    A folder has none.
    """
    parts = _REMOTE.fullmatch(remote)
    return f"https://{parts[1]}/{parts[2]}" if parts else None


def _git(*arguments):
    """Give what Git says of a checkout; nothing outside a checkout."""
    if not (ROOT / ".git").exists():
        return None
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


# --- the answers


def answers(run, cells, up="", visible=VISIBLE):
    """Write a row for each headline; those of an experiment beyond ``visible`` are folded."""
    answered = [(cell, headline) for cell in cells for headline in read_headlines(run, cell)]
    if not answered:
        return "<p>No chapter of this run has reported an answer yet.</p>"
    limits = _axis_limits([headline for _, headline in answered])
    rows = {}
    cells_so_far = set()
    for cell, headline in answered:
        experiment = experiment_of(run, cell)
        rank = _rank(headline, is_first=cell not in cells_so_far)
        cells_so_far.add(cell)
        limit = limits[headline.measure, headline.null]
        row = _row(run, cell, experiment, headline, limit, up)
        rows.setdefault(experiment, []).append((rank, row))
    open_rows = []
    folded_rows = []
    for ranked in rows.values():
        ranks = [rank for rank, _ in ranked]
        order = sorted(range(len(ranks)), key=ranks.__getitem__)
        for k, (_, row) in enumerate(ranked):
            if k in order[:visible]:
                open_rows.append(row)
            else:
                folded_rows.append(row)
    text = f'<ul class="answers">{"".join(open_rows)}</ul>'
    if folded_rows:
        plural = "s" if len(folded_rows) > 1 else ""
        text += (
            '<details class="more-answers">'
            f"<summary>{len(folded_rows)} more answer{plural}</summary>"
            f'<ul class="answers">{"".join(folded_rows)}</ul></details>'
        )
    return text


def _axis_limits(headlines):
    """Give the end of the axis that all effects of one measure share."""
    limits = {}
    for headline in headlines:
        axis = (headline.measure, headline.null)
        values = [headline.value, headline.low, headline.high, headline.margin]
        lengths = [abs(value) for value in values if value is not None]
        limits[axis] = max([limits.get(axis, 0), *lengths])
    return {axis: _round_up(limit) for axis, limit in limits.items()}


def _rank(headline, is_first):
    """Order answers: the first one on each data set, then what is decided, then the others."""
    if is_first:
        return 0
    return 1 if headline.verdict in (HELPS, HURTS) else 2


def method_page(experiment, page=None):
    """Give the address of the page on the method of an experiment, or of a page with an anchor."""
    name, _, anchor = (page or METHODS.get(experiment, experiment)).partition("#")
    name = name.removesuffix(".html").removesuffix(".md")
    if not (SHIPPED / "book" / "methods" / f"{name}.md").is_file():
        name = "measures"
    return f"methods/{name}.html#{anchor}" if anchor else f"methods/{name}.html"


def _row(run, cell, experiment, headline, limit, up):
    """Write the row of one headline."""
    is_measured = headline.verdict != NOT_MEASURED
    result = headline.effect if is_measured else headline.why
    answer = html.escape(f"{headline.answer}: {result}")
    subject = html.escape(_subject(headline, is_measured))
    text = f"<strong>{html.escape(headline.question)}</strong> {answer}<br><small>{subject}</small>"
    word = headline.word
    if headline.verdict == NO_EFFECT and headline.margin:
        word += f" (within ±{headline.margin:.3g})"
    return answer_row(
        text,
        effect_drawing(headline, limit) if is_measured else "",
        (_CLASSES[headline.verdict], word),
        headline.count if headline.n else "",
        f"{_links(run, cell, experiment, headline, up)} {reproduce_line(run, cell, up)}",
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


def _links(run, cell, experiment, headline, up):
    pages = {
        "chapter": f"run/notebooks/{cell}.html",
        "method": method_page(experiment, headline.method),
    }
    if (run_dir(run) / "rows" / f"{cell}.csv.gz").is_file():
        pages["rows"] = f"rows/{cell}.csv.gz"
    if items_file(run, cell).is_file():
        pages["item by item"] = f"generated/items/{cell}.html"
    return " ".join(
        f'<a href="{up}{html.escape(page)}">{label}</a>' for label, page in pages.items()
    )


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


def effect_drawing(headline, limit):
    """Draw an effect with its interval around zero; chance is a tick, the margin a band."""
    digits = 2 if limit >= 0.1 else 4
    ticks = {x: f"{round(x + headline.null, digits):zg}" for x in (-limit, 0, limit)}
    label = f"{headline.effect} on an axis from {ticks[-limit]} to {ticks[limit]}"
    if headline.margin:
        label += f"; differences below {headline.margin:.3g} do not matter"
    if headline.chance is not None:
        label += f"; chance {headline.chance + headline.null:.3g}"
    line = ("", headline.value, headline.low, headline.high, None)
    return drawing([line], ticks, label, headline.margin, headline.chance)


def drawing(lines, ticks, label, margin=0.0, chance=None):
    """Draw values with their intervals.

    A line is (name, value, low, high, stated value); ticks are a dict of position to text.
    """
    start = min(ticks)
    end = max(ticks)
    height = 16 * len(lines) + 4

    def x(value):
        share = (min(max(value, start), end) - start) / ((end - start) or 1)
        return f"{25 + 210 * share:.1f}"

    marks = []
    if margin:
        width = float(x(margin)) - float(x(-margin))
        size = f'y="1" width="{width:.1f}" height="{height - 1}"'
        marks.append(f'<rect class="band" x="{x(-margin)}" {size}/>')
    heights = [10 + 16 * k for k in range(len(lines))]
    axes = "".join(f"M25 {y}H235" for y in heights)
    marks.append(f'<path class="axis" d="{axes}M{x(0)} 1V{height}"/>')
    if chance is not None and start <= chance <= end:
        marks.append(f'<path class="chance" d="M{x(chance)} 3V{height - 2}"/>')
    for y, (name, value, low, high, stated) in zip(heights, lines, strict=True):
        if low is not None and high is not None:
            marks.append(f'<path class="interval" d="M{x(low)} {y}H{x(high)}"/>')
        if stated is not None:
            marks.append(f'<path class="stated-value" d="M{x(stated)} {y - 6}l5 6l-5 6l-5 -6z"/>')
        title = f"<title>{html.escape(name)}</title>" if name else ""
        marks.append(f'<circle class="value" cx="{x(value)}" cy="{y}" r="4">{title}</circle>')
    for position, text in ticks.items():
        is_end = position in (start, end)
        if is_end or min(position - start, end - position) > 0.2 * (end - start):
            anchor = f'x="{x(position)}" y="{height + 12}" text-anchor="middle"'
            marks.append(f"<text {anchor}>{text}</text>")
    label = html.escape(label)
    return (
        f'<svg class="effect" viewBox="0 0 260 {height + 15}" role="img" aria-label="{label}">'
        f"<title>{label}</title>{''.join(marks)}</svg>"
    )
