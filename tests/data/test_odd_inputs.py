"""Odd files at every door for tables: read as they were meant, or refused in one line."""

import csv
import gzip
import io
import json
import re

from casebook import read_log
from casebook.data.rankings import read_rankings
from casebook.data.scored import read_scores
from casebook.errors import InputError
from casebook.factcheck.claims import read_plain
from casebook.raters.annotations import read_ratings
from casebook.sensitivity.cases import read_cases

NUMBERS = ("scores", "run", "qrels", "ratings")


def log(path):
    return read_log(path)[["question", "answer"]].to_numpy().tolist()


def scores(path):
    return read_scores(path)[0].values.T.to_dict()


def ratings(path):
    return read_ratings(path).T.to_dict()


def run(path):
    return read_rankings(path, "run")[0]


def claims(path):
    return [[claim.text, claim.label] for claim in read_plain(path)[0]]


def cases(path):
    return [[sheet.case_id, sheet.outcome] for sheet in read_cases(path)[0]]


#: Door to its reader, its rows, and what is read of them; the first column names, the last says.
DOORS = {
    "log": (log, [["question", "answer"], ["who, a?", "x"], ["007?", "y"]]),
    "claims": (
        claims,
        [["id", "claim", "label"], ["1", "No, never.", "SUPPORTED"], ["2", "NA", "CONFLICTING"]],
    ),
    "scores": (scores, [["id", "system", "score"], ["007", "a", ".5"], ["007", "b", "-1"]]),
    "run": (run, [["query", "document", "score"], ["q", "007", "1.5"], ["q", "NA", "2"]]),
    "qrels": (
        lambda path: read_rankings(path, "qrels")[0],
        [["query", "document", "score"], ["q", "007", "1"], ["q", "NA", "0"]],
    ),
    "ratings": (ratings, [["item", "rater", "rating"], ["007", "a", "1"], ["007", "b", "2"]]),
    "cases": (
        cases,
        [
            ["case_id", "outcome", "sections_cited"],
            ["007", "Allowed", ["IPC-302"]],
            ["1e5", "Dismissed", ["IPC-302"]],
        ],
    ),
}
PLAIN = {
    "log": [["who, a?", "x"], ["007?", "y"]],
    "claims": [["No, never.", "SUPPORTED"], ["NA", "CONFLICTING"]],
    "scores": {"007": {"a": 0.5, "b": -1.0}},
    "run": {"q": {"007": 1.5, "NA": 2.0}},
    "qrels": {"q": {"007": 1, "NA": 0}},
    "ratings": {"007": {"a": 1.0, "b": 2.0}},
    "cases": [["007", "Allowed"], ["1e5", "Dismissed"]],
}


def table(rows, mark=",", end="\n"):
    text = io.StringIO()
    csv.writer(text, delimiter=mark, lineterminator=end).writerows(rows)
    return text.getvalue()


def with_last(rows, cell):
    return [*rows[:-1], [*rows[-1][:-1], cell]]


def with_first(rows, cell):
    return [*rows[:-1], [cell, *rows[-1][1:]]]


def records(rows):
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def lines(rows):
    return "\n".join(map(json.dumps, records(rows)))


SAME = "read as the plain file"
#: File, what it holds, what becomes of it: SAME or part of the refusal.
FILES = [
    ("a.csv", table, SAME),
    ("a.csv", lambda rows: "\ufeff" + table(rows), SAME),
    ("a.csv", lambda rows: table(rows, end="\r\n"), SAME),
    ("a.csv", lambda rows: table(rows, end="\r"), SAME),
    ("a.csv", lambda rows: table(rows, ";"), SAME),
    ("a.csv", lambda rows: table(rows, "\t"), SAME),
    ("a.tsv", lambda rows: table(rows, "\t"), SAME),
    ("a.csv", lambda rows: "sep=|\n" + table(rows, "|"), SAME),
    ("a.csv", lambda rows: table(rows).replace("\n", "\n\n"), SAME),
    ("a.csv", lambda rows: table(rows).replace("\n", ",\n"), SAME),
    ("a.csv", lambda rows: table([[*row, "1"] for row in rows]), SAME),
    ("a.csv", lambda rows: table([[f" {name} " for name in rows[0]], *rows[1:]]), SAME),
    ("a.csv.gz", lambda rows: gzip.compress(table(rows).encode()), SAME),
    ("a.jsonl", lines, SAME),
    ("a.ndjson", lines, SAME),
    ("a.json", lambda rows: json.dumps(records(rows)), SAME),
    ("a.json", lambda rows: "\ufeff" + json.dumps(records(rows)), SAME),
    ("a.csv", lambda rows: table([*rows, [], ["", *rows[1][1:]]]), ":5: .* is empty"),
    ("a.csv", lambda rows: table(rows, "|"), "cells, the header|it has "),
    ("a.csv", lambda rows: table(rows[1:]), "has no |under a header"),
    ("a.csv", lambda rows: table([[rows[0][-1]] * len(rows[0]), *rows[1:]]), "is twice in the header"),
    ("a.csv", lambda rows: table([*rows, ["z"]]), ":4: has 1 cells, the header"),
    ("a.csv", lambda rows: table(with_last(rows, "1,5")).replace('"1,5"', "1,5"), ":3: has "),
    ("a.csv", lambda rows: table(rows) + '"x', "is not CSV, is damaged or cut"),
    ("a.csv", lambda rows: table(with_first(rows, "é")).encode("cp1252"), "WINDOWS-1252"),
    ("a.csv", lambda rows: table(rows).encode("utf-16"), "UTF-16"),
    ("a.csv", lambda rows: gzip.compress(table(rows).encode()), "is not UTF-8"),
    ("a.csv.gz", lambda rows: gzip.compress(table(rows).encode())[:-9], "ended before the end-of-stream"),
    ("a.csv", lambda rows: "", "no rows"),
    ("a.csv", lambda rows: table(rows[:1]), "no rows"),
    ("a.jsonl", lambda rows: "", "no rows"),
    ("a.json", lambda rows: "[]", "no rows"),
    ("a.csv", lambda rows: table([*rows, [*rows[-1][:-1], rows[1][-1]]]), "earlier row|a second answer"),
    ("a.csv", lambda rows: table(with_first(rows, " ")), "is empty"),
    ("a.jsonl", lambda rows: lines(rows)[:-3], ":2: is not JSON"),
    ("a.jsonl", lambda rows: json.dumps(records(rows)), ":1: is not a JSON object"),
    ("a.json", lambda rows: json.dumps({"x": records(rows)}), "rows PATH|document: score|no case_id"),
    ("a.jsonl", lambda rows: lines(rows)[:-1] + f', "{rows[0][0]}": 1}}', "stands twice"),
    ("a.jsonl", lambda rows: lines(with_first(rows, ["x"])), "say which part"),
    ("a.jsonl", lambda rows: lines(with_first(rows, {"x": 1})), "say which part"),
    ("a.jsonl", lambda rows: lines(with_last(rows, {"x": 1})), "say which part|valid tuple"),
    ("a.jsonl", lambda rows: lines(with_first(rows, "\ud800")), "surrogate"),
    ("a.yaml", lambda rows: json.dumps(records(rows)), "is no table|:1: "),
    ("a.txt", table, "is no table|:1: |has a column claim: rename it"),
]  # fmt: skip
#: Last cells of a row: what is read of them, by door, or part of the refusal.
CELLS = [
    ("1", {"log": "1", "scores": 1.0, "run": 1.0, "qrels": 1, "ratings": 1.0}),
    ("+1", {"log": "+1", "scores": 1.0, "run": 1.0, "qrels": 1, "ratings": 1.0}),
    ("1.0", {"log": "1.0", "scores": 1.0, "run": 1.0, "qrels": 1, "ratings": 1.0}),
    ("1e1", {"log": "1e1", "scores": 10.0, "run": 10.0, "qrels": 10, "ratings": 10.0}),
    ("N/A", {"log": "N/A"}),
    ("nan", {"log": "nan"}),
    ("none", {"log": "none"}),
    ("-", {"log": "-"}),
    ("1,5", {"log": "1,5"}),
    ("1_0", {"log": "1_0"}),
    ("inf", {"log": "inf"}),
    ("1e400", {"log": "1e400"}),
    ("0x10", {"log": "0x10"}),
    ("50%", {"log": "50%"}),
    ("−1", {"log": "−1"}),
    ("yes", {"log": "yes"}),
    ("", {"log": "", "claims": "", "ratings": None, "scores": "1 of 1 units lack a score"}),
]
NO_CELL = "is no number|not a finite|not a whole|no whole|what do these words mean|no.* number"


def outcome(read, path, content):
    """What is read of a file; a refusal as its line, without the folder."""
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    path.write_bytes(content)
    try:
        return read(path)
    except InputError as error:
        line = str(error)
        return f"refused: {line}" if line.isprintable() and len(line) < 500 else f"ugly: {line}"


def fits(found, expected):
    if isinstance(expected, str) and isinstance(found, str) and found.startswith("refused: "):
        return bool(re.search(expected, found))
    return found == expected


def test_odd_files_are_read_as_meant_or_refused_at_every_door(tmp_path):
    amiss = []
    for door, (read, rows) in DOORS.items():
        for number, (name, content, expected) in enumerate(FILES):
            if door == "cases" and expected == SAME and "json" not in name:
                continue  # facts are lists and objects
            wanted = PLAIN[door] if expected == SAME else expected
            found = outcome(read, tmp_path / name, content(rows))
            if not fits(found, wanted):
                amiss.append((door, number, expected, found))
    assert amiss == []


def test_odd_cells_are_read_as_meant_or_refused_at_every_door(tmp_path):
    amiss = []
    for door in ("log", "claims", *NUMBERS):
        read, rows = DOORS[door]
        for cell, read_as in CELLS:
            wanted = read_as.get(door, NO_CELL)
            found = outcome(read, tmp_path / "a.csv", table(with_last(rows, cell)))
            if not isinstance(found, str):
                found = last_of(found)
            if not (fits(found, wanted) or found != found):
                amiss.append((door, cell, wanted, found))
    assert amiss == []


def last_of(found):
    """The last value of lists or dictionaries."""
    while isinstance(found, list | dict):
        found = list(found.values() if isinstance(found, dict) else found)[-1]
    return found
