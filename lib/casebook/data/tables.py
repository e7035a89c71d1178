"""The door for tables: columns by exact names or as told; else one line with what to type.

A table is CSV, TSV, JSON (a list of objects), JSON lines, a workbook or parquet, plain, .gz or
.xz. A cell is text as the file writes it, or a list or an object of JSON; an empty one is missing.
"""

import ast
import json
import os
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from casebook.errors import InputError
from casebook.readers import (
    csv_rows,
    did_you_mean,
    near_names,
    parse_cells,
    part_of,
    read_json,
    read_jsonl,
    read_text,
    read_yaml,
    suffix_of,
)
from casebook.sheets import BOOKS, read_book, require_values
from casebook.stats.samples import check_choice
from casebook.text import printable

# Roles of columns by door, each with the exact names that are read.
ROLES = read_yaml(Path(__file__).with_name("roles.yml"))
MOST_COLUMNS = 10_000
LONGEST = 300  # characters of a refusal
# Variable of the environment where parameters are typed, as ``-p columns=``, and no options.
IN_EXPERIMENT = "CASEBOOK_IN_EXPERIMENT"
NUMBER = r"[+-]?(?:\d{1,200}\.?\d*|\.\d+)(?:[eE][+-]?\d\d?)?"


# --- refusals


def refusal(path, problem, row=None):
    """Error of one line, for a file or a row of it."""
    place = str(path) if row is None else f"{path}:{row}"
    # The place gives way, not the remedy at the end.
    most = max(LONGEST - len(problem) - 2, 50)
    place = place if len(place) <= most else f"...{place[3 - most :]}"
    line = printable(f"{place}: {problem}")
    return InputError(line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}...")


def listed(names, most=10):
    """Names with commas: the first ones in at most 110 characters, then how many more."""
    names = [str(name)[:40] or "''" for name in names]
    shown = names[:most]
    while len(", ".join(shown)) > 110:
        shown.pop()
    more = [f"and {len(names) - len(shown)} more"] if len(shown) < len(names) else []
    return ", ".join([*shown, *more]) or "nothing"


def short(value):
    """A value in at most 60 characters."""
    return f"{value!r:.60}"


def to_type(option, value):
    """What to type, an option or in an experiment a parameter; of many pairs the first ones."""
    pairs = [*value.items()] if isinstance(value, dict) else []
    while len(str(pairs)) > 110 and len(pairs) > 1:
        pairs.pop()
    if os.environ.get(IN_EXPERIMENT):
        name = "records" if option == "rows" else option
        text = json.dumps(dict(pairs), ensure_ascii=False) if pairs else value
        return f"-p {shlex.quote(f'{name}={text}')}"
    words = [f"{name}={cell}" for name, cell in pairs] or [value]
    return " ".join(f"--{option} {shlex.quote(word)}" for word in words)


# --- files


def read_table(path, rows=None, parse=parse_cells, alone=False):
    """Table as it is; its index holds the rows of the file, ``attrs["path"]`` its path.

    `rows` is the path of the list in a JSON file that is an object, or a sheet of a workbook;
    `parse` reads JSON, by default with numbers as the file writes them; `alone` takes an object for
    the only row.
    """
    path = Path(path)
    read = READERS.get(suffix_of(path))
    if read is None:
        raise refusal(path, f"is no table: name a {', '.join(READERS)} file")
    table = read(path, rows=rows, parse=parse, alone=alone)
    if table.empty:
        raise refusal(path, "has no rows, or no header above them")
    for name in table.columns[table.columns.duplicated()]:
        raise refusal(path, f"column {short(name)} is twice in the header: rename one")
    table.attrs["path"] = path
    return table


def _delimited(path, **_):
    """Table of a CSV without empty rows; a first line ``sep=;`` names its separator."""
    text = read_text(path)
    first = text.partition("\n")[0]
    named = re.fullmatch("sep=(.)", first)
    marks = sorted({*re.findall("[,;\t]", re.sub('"[^"]*"', "", first))}) or [","]
    if named or suffix_of(path) == ".tsv":
        marks = [named[1] if named else "\t"]
    if len(marks) > 1:
        mark, other = marks[:2]
        way = f"put sep={mark} or sep={other} into a line before it"
        raise refusal(path, f"the header has {mark!r} and {other!r}: {way}")
    rows = dict(enumerate(csv_rows(path, text, marks[0]), 1))
    if named:
        del rows[1]
    rows = pd.Series(
        {row: cells for row, cells in rows.items() if any(cells)}, dtype=object
    )
    names = [name.strip() for name in rows.iloc[0]] if len(rows) else []
    _refuse_width(path, names)
    cells = rows.iloc[1:]
    for row, n in cells.map(len).items():
        if n != len(names):
            problem = f"has {n} cells, the header {len(names)}: put a cell that holds the separator"
            raise refusal(path, f"{problem} in quotes, a decimal comma too", row)
    table = pd.DataFrame(cells.to_list(), cells.index, names, dtype=object)
    return table.drop(columns="", errors="ignore")


def _sheet(path, rows, **_):
    tables = {sheet.name: sheet.table for sheet in read_book(path).sheets}
    name = next(iter(tables)) if rows is None and len(tables) == 1 else rows
    if name not in tables:
        raise refusal(
            path, f"has the sheets {listed(tables)}: type {to_type('rows', 'SHEET')}"
        )
    require_values(path, name, tables[name])
    return tables[name].map(cell_text).drop(columns="", errors="ignore")


def _lines(path, parse, **_):
    return _of_objects(path, dict(read_jsonl(path, parse=parse)))


def _json(path, rows, parse, alone):
    """Objects of a JSON file: all of it, or the list that `rows` names."""
    content = read_json(path, parse=parse)
    found = part_of(content, rows)
    if alone and isinstance(found, dict):
        found = [found]
    if not isinstance(found, list):
        within = pd.json_normalize(content if isinstance(content, dict) else {}).items()
        lists = listed(name for name, (cell,) in within if isinstance(cell, list))
        problem = (
            f"is no list of rows: type {to_type('rows', 'PATH')}; its lists: {lists}"
        )
        raise refusal(path, problem)
    for number, record in enumerate(found, 1):
        if not isinstance(record, dict):
            raise refusal(path, f"is no object: {short(record)}", number)
    return _of_objects(path, dict(enumerate(found, 1)))


def _parquet(path, **_):
    try:
        from pyarrow import parquet

        records = parquet.read_table(path).to_pylist()
    except Exception as error:  # pyarrow raises many kinds on damaged files
        way = "pip install pyarrow, if it is missing"
        raise refusal(
            path, f"is no parquet file, or is damaged: {error} ({way})"
        ) from error
    return _of_objects(path, dict(enumerate(records, 1)))


def _of_objects(path, records):
    _refuse_width(path, {name for record in records.values() for name in record})
    return pd.DataFrame([*records.values()], [*records], dtype=object)


def _refuse_width(path, names):
    """Refuse a table of too many columns early: pandas takes minutes."""
    if len(names) > MOST_COLUMNS:
        counted = f"{len(names):,} columns, more than {MOST_COLUMNS:,}"
        raise refusal(path, f"has {counted}: make rows of what is in columns")


READERS = {
    ".csv": _delimited,
    ".tsv": _delimited,
    ".json": _json,
    ".jsonl": _lines,
    ".ndjson": _lines,
    **dict.fromkeys(BOOKS, _sheet),
    ".parquet": _parquet,
}
ENDINGS = tuple(READERS)


# --- columns and their roles


def cell_text(value):
    """A cell as text, a whole number without a point; lists and objects stay."""
    if isinstance(value, (str, list, dict)):
        return value
    if value is None or value != value:
        return ""
    return str(value).lower().removesuffix(".0")


def _head(table, name):
    """The column itself that holds what is named, which may be a part of its cells."""
    return name if name in table else name.partition(".")[0]


def _column(table, name):
    head = _head(table, name)
    path = name[len(head) + 1 :]
    return [cell_text(part_of(cell, path)) for cell in table.get(head, ())]


def _names_within(table):
    """Names of columns; of those that hold objects, the paths of their members."""
    first = {name: next(iter(table[name].dropna()), None) for name in table}
    return list(pd.json_normalize(first))


def read_roles(
    table,
    door,
    needed,
    columns=None,
    values=None,
    lists="json",
    further=(),
    hint="",
    prefix="",
):
    """Columns of a table by their roles, or the refusal with what to type.

    Parameters
    ----------
    table : pandas.DataFrame
        Of `read_table`.
    door : str
        Which of `ROLES`.
    needed : sequence of str
        Roles without which the file is refused.
    columns : dict, optional
        Role to column or path, ``{"answer": "outputs.0.text"}``; ``"-"`` is none.
    values : dict, optional
        Word in a cell to what it means, ``{"N/A": "", "Yes": "yes"}``; it holds for labels and
        numbers.
    lists : str
        How a cell of a CSV holds several texts: ``json``, ``python``, ``one``, or the mark between.
    further : sequence of str
        Columns without a role, as scores.
    hint : str
        What else may be typed.
    prefix : str
        What is typed before a role, ``corpus.``.

    Returns
    -------
    Reading

    Raises
    ------
    InputError
        In one line of at most 300 characters.
    """
    path = table.attrs["path"]
    chosen = _chosen(table, ROLES[door], columns or {}, further, prefix)
    lacking = [role for role in needed if role not in chosen]
    if lacking:
        raise refusal(
            path, _lacking(table, ROLES[door], lacking, chosen, prefix) + hint
        )
    cells = {role: _column(table, name) for role, name in chosen.items()}
    for role, name in chosen.items():
        if name not in table and not any(cells[role]):
            there = _names_within(table)
            near = did_you_mean(name, there)
            raise refusal(
                path, f"has no column {short(name)}{near}; it has {listed(there)}"
            )
    frame = pd.DataFrame(cells, table.index, dtype=object)
    read = {_head(table, name) for name in chosen.values()}
    unread = [name for name in table if name not in read]
    words = {word: cell_text(meaning) for word, meaning in (values or {}).items()}
    return Reading(
        path, frame, chosen, unread, list(further), words, lists, prefix=prefix
    )


def _chosen(table, roles, columns, further, prefix):
    """The column of each role: as told, else the one that has a listed name."""
    for role in columns:
        check_choice("role of a column", role, roles)
    chosen = {}
    for role, names in roles.items():
        there = [name for name in names if name in table and name not in further]
        there = [columns[role]] if role in columns else there
        if len(there) > 1:
            ways = " or ".join(
                to_type("columns", {prefix + role: name}) for name in there
            )
            raise refusal(
                table.attrs["path"], f"{listed(there)} may each be the {role}: {ways}"
            )
        if there and there != ["-"]:
            chosen[role] = there[0]
    return chosen | {name: name for name in further}


def _lacking(table, roles, lacking, chosen, prefix):
    """What is wrong where roles have no column; a near name is proposed, never read."""
    there = _names_within(table)
    others = [name for name in there if name not in chosen.values()]
    is_plain = len(others) == len(lacking) == 1
    proposed = dict.fromkeys(lacking, others[0] if is_plain else "COLUMN")
    for role in [role for role in roles if role not in chosen]:
        for name in reversed(roles[role]):
            for near in near_names(name, others):
                proposed[role] = near
    pairs = {prefix + role: name for role, name in proposed.items()}
    no = "; ".join(f"{role} ({', '.join(roles[role])})" for role in lacking)
    return f"has no {no}; it has {listed(there)}: type {to_type('columns', pairs)}"


# --- what was read


@dataclass
class Reading:
    """What was read of a file and what was not; prints itself.

    `table` has a column for each role, and for its index the rows of the file; `columns` is the
    column of the file of each role, `further` are those without a role. What a cell means is asked
    of its methods; of a role that the file has not, all cells are empty.
    """

    path: Path
    table: pd.DataFrame
    columns: dict
    unread: list
    further: list = field(default_factory=list)
    values: dict = field(default_factory=dict)
    lists_as: str = "json"
    notes: list = field(default_factory=list)
    prefix: str = ""

    def __str__(self):
        return reading_text(self.record() | {"file": str(self.path)})

    def record(self):
        """The same for the record of a run, a row of a table of files; no folder is in it."""
        pairs = self.columns.items()
        read = [role if role == name else f"{role} = {name!r}" for role, name in pairs]
        return {
            "file": self.path.name,
            "rows": len(self.table),
            "read": ", ".join(read),
            "not read": ", ".join(map(str, self.unread)) or "nothing",
            "notes": "; ".join(self.notes),
        }

    def __contains__(self, role):
        return role in self.columns

    def refuse(self, row, problem):
        raise refusal(self.path, problem, row)

    def refuse_repeats(self, *roles, hint=""):
        """Refuse two rows that have the same in all of some roles."""
        cells = self.table[list(roles)]
        for row, repeated in cells[cells.duplicated()].iterrows():
            same = ", ".join(f"{role} {short(cell)}" for role, cell in repeated.items())
            self.refuse(row, f"{same} stands in an earlier row already: keep one{hint}")

    def cells(self, role):
        return self.table.get(role, pd.Series("", self.table.index, dtype=object))

    def texts(self, role, may_be_empty=False):
        """Cells that are text."""
        cells = self.cells(role)
        for row, cell in cells.items():
            if not isinstance(cell, str):
                way = to_type(
                    "columns", {self.prefix + role: f"{self.columns[role]}.PART"}
                )
                self.refuse(
                    row, f"{role} is {short(cell)}: say which part of it, as in {way}"
                )
            if not may_be_empty and not cell.strip():
                self.refuse(
                    row,
                    f"{role} (column {short(self.columns.get(role, role))}) is empty",
                )
        return cells

    def lists(self, role, may_be_text=False):
        """Cells as lists of texts, None where empty; see `read_roles` of how they are written."""
        lists = {}
        for row, cell in self.cells(role).items():
            lists[row] = _list_of(cell, self.lists_as, may_be_text)
            if lists[row] is None and cell != "":
                way = to_type("columns", {role: f"{self.columns[role]}.*.text"})
                if isinstance(cell, str):
                    others = (
                        f"(a single text), python, or the mark: {to_type('lists', '|')}"
                    )
                    way = f"{to_type('lists', 'one')} {others}"
                self.refuse(
                    row, f"{role} {short(cell)} is no JSON list of texts: type {way}"
                )
        return pd.Series(lists, dtype=object)

    def numbers(self, role, hint=""):
        """Cells as numbers, NaN where empty."""
        words = self.texts(role, may_be_empty=True).replace(self.values).astype(str)
        is_number = words.str.fullmatch(NUMBER)
        for row, word in words[(words != "") & ~is_number].items():
            remedy = f"{to_type('values', {word: ''})} if it is missing, else {word}=NUMBER{hint}"
            if re.fullmatch(r"[+-]?\d+,\d+", word):
                remedy = "write a decimal point instead of the comma"
            self.refuse(row, f"{role} {short(word)} is no number: {remedy}")
        return words.where(is_number).map(float)

    def labels(self, role, allowed=(), others=False):
        """Cells as labels, "" where missing; doubtful words are asked about, all in one line.

        Doubtful are words for missing, two that differ in case or blanks only, and, if labels are
        `allowed`, all others, unless `others` may stand.
        """
        words = self.texts(role, may_be_empty=True).astype(str)
        meanings = ("", *allowed) if allowed else self.values.values()
        told = {word: label for word, label in self.values.items() if label in meanings}
        known = dict.fromkeys(ROLES["missing"], "")
        known |= {_folded(label): label for label in (*told.values(), *allowed)}
        known |= {_folded(word): label for word, label in told.items()}
        doubts = {}
        for word in words[~words.isin(["", *told])].unique():
            is_doubtful = word in self.values or (allowed and not others)
            likely = known.setdefault(_folded(word), "LABEL" if is_doubtful else word)
            if likely != word:
                doubts[word] = likely
        for row in words.index[words.isin(list(doubts))]:
            own = f"LABEL: {', '.join(allowed)}" if allowed else "WORD=WORD keeps it"
            way = f"type {to_type('values', doubts)} (WORD= is missing; {own})"
            self.refuse(row, f"{role}: what do these words mean? {way}")
        return words.replace(told)

    def names(self, role):
        """Cells that name somebody or something; two spellings of one name are refused."""
        words = self.texts(role)
        first = words.groupby(words.map(_folded)).transform("first")
        for row, word in words[words != first].items():
            problem = "is a name above but for case or blanks: write one of them"
            self.refuse(row, f"{role} {short(word)} {problem}")
        return words


def reading_text(record):
    """A reading in words, of its record."""
    text = (
        f"{record['rows']} rows; read: {record['read']}; not read: {record['not read']}"
    )
    notes = f"\n  {record['notes']}" if record["notes"] else ""
    return f"{record['file']}: {text}{notes}"


def _folded(word):
    return " ".join(word.casefold().replace("_", " ").split())


def _list_of(cell, lists_as, may_be_text):
    """Texts of a cell; None if it is empty or not as told, unless it may be a text."""
    ways = {"json": parse_cells, "python": ast.literal_eval, "one": lambda text: [text]}
    way = ways.get(lists_as, lambda text: text.split(lists_as))
    try:
        found = way(cell) if cell and isinstance(cell, str) else cell
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        found = None
    is_list = isinstance(found, list) and all(isinstance(text, str) for text in found)
    # A list of numpy has no commas, and Python would join its texts.
    is_joined = lists_as == "python" and isinstance(cell, str) and repr(found) != cell
    if is_list and not is_joined:
        return found
    return [cell] if cell and may_be_text else None
