"""Odd files at every door for tables: read as they were meant, or refused in one line."""

import csv
import gzip
import io
import json
import re

import pandas as pd

from casebook import read_log
from casebook.data.rankings import read_rankings
from casebook.data.scored import read_scores
from casebook.errors import InputError
from casebook.factcheck.claims import read_plain
from casebook.raters.annotations import read_ratings
from casebook.sensitivity.cases import read_cases

#: Door to its reader, its rows, and what is read of them; the first column names, the last says.
DOORS = {
    "log": (
        lambda path: read_log(path)[["question", "answer"]].to_numpy().tolist(),
        [["question", "answer"], ["who, a?", "x"], ["007?", "y"]],
    ),
    "claims": (
        lambda path: [[claim.text, claim.label] for claim in read_plain(path)[0]],
        [["id", "claim", "label"], ["1", "No, never.", "SUPPORTED"], ["2", "NA", "CONFLICTING"]],
    ),
    "scores": (
        lambda path: read_scores(path)[0].values.T.to_dict(),
        [["id", "system", "score"], ["007", "a", ".5"], ["007", "b", "-1"]],
    ),
    "run": (
        lambda path: read_rankings(path, "run")[0],
        [["query", "document", "score"], ["q", "007", "1.5"], ["q", "NA", "2"]],
    ),
    "qrels": (
        lambda path: read_rankings(path, "qrels")[0],
        [["query", "document", "score"], ["q", "007", "1"], ["q", "NA", "0"]],
    ),
    "ratings": (
        lambda path: read_ratings(path).T.to_dict(),
        [["item", "rater", "rating"], ["007", "a", "1"], ["007", "b", "2"]],
    ),
    "cases": (
        lambda path: [[sheet.case_id, sheet.outcome] for sheet in read_cases(path)[0]],
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


def with_last(rows, cell, place=-1):
    last = [*rows[-1]]
    last[place] = cell
    return [*rows[:-1], last]


def lines(rows):
    return "\n".join(map(json.dumps, records(rows)))


def records(rows):
    return pd.DataFrame(rows[1:], columns=rows[0]).to_dict("records")


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
    ("a.csv", lambda rows: table(with_last(rows, "é", 0)).encode("cp1252"), "WINDOWS-1252"),
    ("a.csv", lambda rows: table(rows).encode("utf-16"), "UTF-16"),
    ("a.csv", lambda rows: gzip.compress(table(rows).encode()), "is not UTF-8"),
    ("a.csv.gz", lambda rows: gzip.compress(table(rows).encode())[:-9], "ended before the end-of-stream"),
    ("a.csv", lambda rows: "", "no rows"),
    ("a.csv", lambda rows: table(rows[:1]), "no rows"),
    ("a.jsonl", lambda rows: "", "no rows"),
    ("a.json", lambda rows: "[]", "no rows"),
    ("a.csv", lambda rows: table([*rows, [*rows[-1][:-1], rows[1][-1]]]), "earlier row|a second answer"),
    ("a.csv", lambda rows: table(with_last(rows, " ", 0)), "is empty"),
    ("a.jsonl", lambda rows: lines(rows)[:-3], ":2: is not JSON"),
    ("a.jsonl", lambda rows: json.dumps(records(rows)), ":1: is not a JSON object"),
    ("a.json", lambda rows: json.dumps({"x": records(rows)}), "rows PATH|document: score|no case_id"),
    ("a.jsonl", lambda rows: lines(rows)[:-1] + f', "{rows[0][0]}": 1}}', "stands twice"),
    ("a.jsonl", lambda rows: lines(with_last(rows, ["x"], 0)), "say which part"),
    ("a.jsonl", lambda rows: lines(with_last(rows, {"x": 1}, 0)), "say which part"),
    ("a.jsonl", lambda rows: lines(with_last(rows, {"x": 1})), "say which part|valid tuple"),
    ("a.jsonl", lambda rows: lines(with_last(rows, "\ud800", 0)), "surrogate"),
    ("a.yaml", lambda rows: json.dumps(records(rows)), "is no table|:1: "),
    ("a.txt", table, "is no table|:1: |has a column claim: rename it"),
]  # fmt: skip
#: Last cells of a row, and the number that is read of them, if any.
CELLS = {"1": 1, "+1": 1, "1.0": 1, "1e1": 10}
CELLS |= dict.fromkeys(
    ["N/A", "nan", "none", "-", "1,5", "1_0", "inf", "1e400", "0x10", "50%", "−1", "yes"]
)
NO_CELL = "is no number|not a finite|not a whole|no whole|what do these words mean|no.* number"
EMPTY = {"log": "''", "claims": "''", "ratings": "nan", "scores": "1 of 1 units lack a score"}


def cases(door, rows):
    """Name and content of each file for a door, and a pattern of what is read, or refused."""
    for name, content, expected in FILES:
        if expected != SAME:
            yield name, content(rows), expected
        elif door != "cases" or "json" in name:  # facts are lists and objects
            yield name, content(rows), re.escape(str(PLAIN[door]))
    if door != "cases":
        yield "a.csv", table(with_last(rows, "")), EMPTY.get(door, NO_CELL)
        for cell, number in CELLS.items():
            last = NO_CELL if number is None or door == "claims" else rf" {number}(\.0)?[\]}}]*$"
            yield (
                "a.csv",
                table(with_last(rows, cell)),
                re.escape(repr(cell)) if door == "log" else last,
            )


def outcome(read, path, content):
    """What is read of a file, or its refusal in one line that can be printed."""
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    path.write_bytes(content)
    try:
        return str(read(path))
    except InputError as error:
        return str(error) if str(error).isprintable() and len(str(error)) < 500 else ""


def test_odd_files_and_cells_are_read_as_meant_or_refused_at_every_door(tmp_path):
    wrong = []
    for door, (read, rows) in DOORS.items():
        for name, content, expected in cases(door, rows):
            found = outcome(read, tmp_path / name, content)
            if not re.search(expected, found):
                wrong.append((door, name, content, expected, found))
    assert wrong == []
