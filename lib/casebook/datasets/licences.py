"""ScanCode's licence notices and the licences that they refer to."""

import re
import zipfile
from collections import defaultdict

import pandas as pd

from casebook.datasets.corpus import RetrievalDataset
from casebook.errors import InputError

WHEEL = "licensedcode_data.whl"
PER_LICENCE = 3
NOTICE_WORDS = (12, 120)
SHORTEST_LICENCE = 20  # words; below it there is a pointer, not a text
_SET_ASIDE = ("is_deprecated", "is_exception", "is_generic", "is_unknown")
_NAMES = ("key", "name", "short_name", "spdx_license_key")


def licence_notices(card, files, split):
    """Read the notices and the licence texts out of the package, unopened otherwise."""
    with zipfile.ZipFile(files[WHEEL]) as archive:
        names = sorted(archive.namelist())
        licences = _licences(archive, names)
        notices = _notices(archive, names, licences)
    card.expect(licences=len(licences), notices=sum(map(len, notices.values())))
    rows = [
        {"query_id": name, "text": text, "licence": key}
        for key, found in notices.items()
        for name, text in found[:PER_LICENCE]
        if split == "all" or not names_licence(text, licences[key])
    ]
    qrels = {row["query_id"]: {row["licence"]: 1} for row in rows}
    return RetrievalDataset(
        key=card.key,
        split=split,
        documents=pd.DataFrame(
            {
                "doc_id": licences.keys(),
                "title": [head["name"] for head in licences.values()],
                "text": [head["text"] for head in licences.values()],
                "category": [head.get("category") for head in licences.values()],
            }
        ),
        queries=pd.DataFrame(rows),
        qrels=qrels,
        card=card,
        groups={row["query_id"]: row["licence"] for row in rows},
    )


def _licences(archive, names):
    """Give the usable licences by key: front matter and text."""
    found = {}
    for name in names:
        if name.startswith("licensedcode/data/licenses/") and name.endswith(".LICENSE"):
            head = front_matter(name, archive.read(name).decode("utf-8"))
            usable = len(head["text"].split()) >= SHORTEST_LICENCE
            english = head.get("language", "en") == "en"
            if usable and english and not any(flag in head for flag in _SET_ASIDE):
                found[head["key"]] = head
    return found


def _notices(archive, names, licences):
    """Give (name, text) of the usable notices by licence key."""
    found = defaultdict(list)
    low, high = NOTICE_WORDS
    for name in names:
        if not name.startswith("licensedcode/data/rules/"):
            continue
        head = front_matter(name, archive.read(name).decode("utf-8"))
        key = head.get("license_expression")
        notice = head.get("is_license_notice") == "yes" and "is_deprecated" not in head
        if notice and key in licences and low <= len(head["text"].split()) <= high:
            stem = name.rsplit("/", 1)[1].removesuffix(".RULE")
            found[key].append((stem, head["text"]))
    return dict(sorted(found.items()))


def front_matter(name, content):
    """Take a file of the package apart."""
    parts = re.split(r"^---[ \t]*\r?$", content, maxsplit=2, flags=re.MULTILINE)
    if len(parts) < 2:
        raise InputError(f"{WHEEL}: {name} has no front matter")
    fields = dict(re.findall(r"^(\w+): +(.+?)\s*$", parts[1], flags=re.MULTILINE))
    fields = {field: value.strip("'\"") for field, value in fields.items()}
    return fields | {"text": parts[2].strip() if len(parts) > 2 else ""}


def names_licence(notice, licence):
    """Tell whether a notice holds the name of its licence word for word."""
    text = _folded(notice)
    return any(_folded(licence[name]) in text for name in _NAMES if name in licence)


def _folded(text):
    return " ".join(text.casefold().split())
