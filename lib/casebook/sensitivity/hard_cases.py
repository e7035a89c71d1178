"""Hard quotations and citations, written for this project, and two readers of them."""

import json
import re

import pandas as pd

from casebook.datasets.jsonl import read_jsonl
from casebook.inference.proportions import wilson
from casebook.measures.citation_states import citation_states
from casebook.measures.citations import canonical, find_citations
from casebook.measures.quotes import quote_states
from casebook.paths import DATA

FOLDER = DATA / "hard_citations"
_PLAIN_QUOTE = re.compile(r"[\"'](.+?)[\"']")
_PLAIN_CITATION = re.compile(r"\[\d{4}\] \w+ \d+")


def hard_cases():
    """Read the cases and the sources that they are about."""
    fields = {"id": str, "kind": str, "trap": str, "explanation": str, "expected": list}
    cases = [row for _, row in read_jsonl(FOLDER / "cases.jsonl", fields)]
    return cases, json.loads((FOLDER / "sources.json").read_text(encoding="utf-8"))


def read_case(case, sources):
    """Read one case with the library."""
    text, written = case["explanation"], sources["citations"]
    if case["kind"] == "quote":
        known = {canonical(citation): key for citation, key in written.items()}
        return [q.state for q in quote_states(text, sources["sources"], known)]
    if case["kind"] == "citation":
        options = {"names": sources["names"], "expected": case.get("about")}
        return [c.state for c in citation_states(text, written, **options)]
    return [citation.canonical for citation in find_citations(text)]


def read_plainly(case, sources):
    """Read one case as a plain pattern does: the control."""
    text = case["explanation"]
    if case["kind"] == "quote":
        found = [m.group(1) for m in _PLAIN_QUOTE.finditer(text)]
        return ["verbatim" if any(q in s for s in sources["sources"].values()) else "absent" for q in found]
    found = [m.group() for m in _PLAIN_CITATION.finditer(text)]
    if case["kind"] == "citation":
        return ["verbatim" if c in sources["citations"] else "absent" for c in found]
    return [re.sub(r"[\[\]]", "", citation) for citation in found]


def reading_check(cases, sources):
    """Hold the reading of quotations and citations against hard cases, and a plain one."""
    rows = []
    for kind in dict.fromkeys(case["kind"] for case in cases):
        part = [case for case in cases if case["kind"] == kind]
        for name, reader in (("ours", read_case), ("plain", read_plainly)):
            right = sum(reader(case, sources) == case["expected"] for case in part)
            found = wilson(right, len(part))
            bounds = {"share": found.estimate, "low": found.low, "high": found.high}
            rows.append({"kind": kind, "reader": name} | bounds | {"n": len(part)})
    return pd.DataFrame(rows)
