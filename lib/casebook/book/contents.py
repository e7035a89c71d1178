"""The sidebar of a run: its chapters under the questions of ``book/_toc.yml``."""

from casebook.paths import ROOT
from casebook.readers import read_yaml

#: Pages on which a reader compares systems or looks at single items, above the chapters.
COMPARING = {"leaderboard": "Leaderboard", "items": "Single items"}
# Experiments that answer nothing, wherever a part names them.
DEMONSTRATION = "demonstration"
MOST_WORDS = 4  # of an entry


def contents(chapters, generated):
    """The table of contents with the chapters of a run.

    A part names its experiments, and below each those that go with it; the first of these parts
    has all that none names.
    """
    toc = read_yaml(ROOT / "book" / "_toc.yml")
    left = {}
    for chapter in chapters:
        key = DEMONSTRATION if chapter.is_demonstration else chapter.experiment
        left.setdefault(key, []).append(chapter)
    holders = [part for part in toc["parts"] if "executed_notebooks" in part]
    for part in holders:
        named = part.pop("executed_notebooks")
        part["chapters"] = _entries(named or {}, left) + part.get("chapters", [])
    if holders:
        first = holders[0]
        first["chapters"] += _entries(dict.fromkeys(left), left)
        present = [page for page in COMPARING if f"{page}.md" in generated]
        pages = [
            {"file": f"generated/{page}", "title": COMPARING[page]} for page in present
        ]
        first["chapters"] = pages + first["chapters"]
    toc["parts"] = [part for part in toc["parts"] if part.get("chapters")]
    return toc


def _entries(named, left):
    """An entry for each experiment that ran; further data, and what goes with it, below."""
    entries = []
    for experiment, about in named.items():
        about = about or {}
        ran = left.pop(experiment, [])
        below = [
            _entry(chapter, chapter.title.partition(": ")[2]) for chapter in ran[1:]
        ]
        below += _entries(about.get("below", {}), left)
        if ran:
            first = _entry(ran[0], about.get("title"))
            entries.append(first | {"sections": below} if below else first)
        else:
            entries += below
    return entries


def _entry(chapter, title):
    title = title or chapter.experiment_title
    return {"file": f"run/notebooks/{chapter.cell}", "title": short(title)}


def short(title):
    words = title.split()
    start = " ".join(words[:MOST_WORDS]).rstrip(":,")
    return f"{start}…" if len(words) > MOST_WORDS else start


def files_of(entry):
    if "file" in entry:
        yield entry["file"]
    for name in ("parts", "chapters", "sections"):
        for child in entry.get(name, []):
            yield from files_of(child)
