"""The page on which a reader compares any two systems of a run.

``assets/leaderboard.js`` draws it from a script of data. All numbers are those that the chapters
kept; none is computed here or in the browser.
"""

import json
from collections import Counter

import pandas as pd

from casebook.book.front import TEMPLATES
from casebook.book.items import packed_script
from casebook.book.titles import raw
from casebook.frames import OTHER, PLANNED
from casebook.paths import run_dir
from casebook.runs.outputs import LEADERBOARD_TIMES, item_page_address
from casebook.tables import reason_text
from casebook.verdicts import INTERVAL_BY_UNIT, NOT_MEASURED, OPPOSITE

PAGE = "leaderboard"


def leaderboard_link(chapter):
    if chapter.leaderboard is None:
        return ""
    address = f"../../generated/{PAGE}.html#data={chapter.cell}"
    return f'<a href="{address}">Compare any two systems</a>.'


def leaderboard_pages(chapters):
    content = [_content(chapter) for chapter in chapters if chapter.leaderboard]
    if not content:
        return {}
    data = {"opposite": OPPOSITE, "unmeasured": NOT_MEASURED, "chapters": content}
    page = TEMPLATES.get_template("leaderboard.html").render(chapters=content)
    script = packed_script("casebookLeaderboard", json.dumps(data))
    return {
        f"{PAGE}.js": script,
        f"{PAGE}.md": f"# Leaderboard\n\n{raw(page)}",
    }


def _content(chapter):
    """Add to what a chapter kept its names, its times and the address of its items."""
    content = chapter.leaderboard
    return content | {
        "cell": chapter.cell,
        "title": chapter.title,
        "measures": [_measure(measure, content) for measure in content["measures"]],
        "milliseconds": _milliseconds(chapter, content["systems"]),
        "items": _items(chapter),
    }


def _measure(measure, content):
    """Write the reasons of a measure in words, and say how its intervals were made."""
    contrasts = measure["contrasts"]
    levels = measure["levels"]
    reason = contrasts["reason"]
    in_words = reason | {"words": [reason_text(code) for code in reason["words"]]}
    return measure | {
        "levels": levels | {"reason": [reason_text(code) for code in levels["reason"]]},
        "contrasts": contrasts | {"reason": in_words},
        "inference": f"{_families(contrasts)} {_resampling(contrasts, content)}".strip(),
    }


def _families(contrasts):
    family = contrasts["family"]
    counts = Counter(family["words"][k] for k in family["rows"])
    if counts.total() == 1:
        return "The interval is one of 95 %."
    names = {PLANNED: "planned", OTHER: "not planned"}
    parts = [f"{counts[name]} {text}" for name, text in names.items() if counts[name]]
    return f"The 95 % intervals hold together within a family of pairs: {', '.join(parts)}."


def _resampling(contrasts, content):
    unit = content["unit"]
    cluster = content["cluster"]
    n = max(contrasts["n"])
    n_groups = max(contrasts["groups"])
    if INTERVAL_BY_UNIT in contrasts["reason"]["words"]:
        return f"There are {n_groups} {cluster}, too few to resample: intervals are over {unit}."
    if cluster and n_groups < n:
        return f"Tests and intervals are over {n_groups} {cluster}, which hold the {n} {unit}."
    return f"Tests and intervals are over {n} {unit}."


def _milliseconds(chapter, systems):
    """The times of the systems; None where there is none, or they are of other systems."""
    path = run_dir(chapter.run) / "timings" / f"{chapter.cell}.{LEADERBOARD_TIMES}.csv"
    if not path.is_file():
        return None
    times = pd.read_csv(path)["milliseconds"]
    times = times.astype(object).where(times.notna(), None).tolist()
    return times if len(times) == len(systems) else None


def _items(chapter):
    if chapter.items is None:
        return None
    about = {name: chapter.items[name] for name in ("systems", "measures")}
    return {"address": item_page_address(chapter.cell)} | about
