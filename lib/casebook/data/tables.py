"""The door for tables: columns by exact names or as told; else one line with what to type.

A table is CSV, TSV, JSON (a list of objects), JSON lines, a workbook or parquet, plain, .gz or
.xz. A cell is text as the file writes it, or a list or an object of JSON; an empty one is missing.
"""

import ast
import json
import os
import re
import shlex
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from casebook.errors import InputError
from casebook.readers import (
    csv_rows,
    did_you_mean,
    near_names,
    parse_cells,
    read_json,
    read_jsonl,
    read_text,
    read_yaml,
    suffix_of,
)
from casebook.sheets import BOOKS, read_book, require_values

ROLES = read_yaml(Path(__file__).with_name("roles.yml"))
"""Roles of columns by door, each with the exact names that are read."""
ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", *BOOKS, ".parquet")
MOST_COLUMNS = 10_000
LONGEST = 300  # characters of a refusal
IN_EXPERIMENT = "CASEBOOK_IN_EXPERIMENT"
"""Variable of the environment where parameters are typed, as ``-p columns=``, and no options."""
NUMBER = r"[+-]?(?:\d{1,200}\.?\d*|\.\d+)(?:[eE][+-]?\d\d?)?"


# --- refusals


def refusal(path, problem, row=None):
    """Error of one line, for a file or a row of it."""
    where = str(path)
    if len(where) > 80:
        where = f"...{where[-77:]}"
    if row is not None:
        where = f"{where}:{row}"
    line = "".join(sign if sign.isprintable() else " " for sign in f"{where}: {problem}")
    return InputError(line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}...")


def listed(names, most=10):
    """Names with commas: the first ones, then how many more."""
    names = [str(name) for name in names]
    shown = [name if len(name) <= 24 else f"{name[:21]}..." for name in names[:most]]
    shown = [name or "''" for name in shown]
    while len(", ".join(shown)) > 110:
        shown.pop()
    if len(shown) < len(names):
        shown.append(f"and {len(names) - len(shown)} more")
    return ", ".join(shown) or "nothing"


def short(value):
    """A value in at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def to_type(option, value, room=120):
    """What to type, an option or in an experiment a parameter: as many pairs of it as fit."""
    typed = _typed(option, value)
    while isinstance(value, dict) and len(value) > 1 and len(typed) > room:
        value = dict(list(value.items())[:-1])
        typed = _typed(option, value)
    return typed


def _typed(option, value):
    if os.environ.get(IN_EXPERIMENT):
        name = "records" if option == "rows" else option
        text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
        return f"-p {shlex.quote(f'{name}={text}')}"
    words = (
        [f"{name}={cell}" for name, cell in value.items()] if isinstance(value, dict) else [value]
    )
    return " ".join(f"--{option} {shlex.quote(word)}" for word in words)


# --- files


def read_table(path, rows=None, parse=parse_cells, alone=False):
    """Table as it stands; its index holds the rows of the file, ``attrs["path"]`` its path.

    `rows` is the path of the list in a JSON file that is an object, or a sheet of a workbook;
    `parse` reads JSON, by default with numbers as the file writes them; `alone` takes an object for
    the only row.
    """
    path = Path(path)
    kind = suffix_of(path)
    if kind in (".csv", ".tsv"):
        table = _of_cells(path, _delimited(path, kind))
    elif kind in BOOKS:
        table = _of_cells(path, _sheet(path, rows))
    elif kind in (".jsonl", ".ndjson"):
        table = _of_records(path, read_jsonl(path, parse=parse))
    elif kind == ".json":
        table = _of_records(path, enumerate(_list_of_rows(path, rows, parse, alone), 1))
    elif kind == ".parquet":
        table = _of_records(path, _parquet(path))
    else:
        raise refusal(path, f"is no table: name a {', '.join(ENDINGS)} file")
    table.attrs["path"] = path
    return table


def _delimited(path, kind):
    """Numbered rows of a CSV; a first line ``sep=;`` names its separator."""
    text = read_text(path)
    first, _, rest = text.partition("\n")
    told = re.fullmatch("sep=(.)", first)
    if told:
        return enumerate(csv_rows(path, rest, told[1]), 2)
    if kind == ".tsv":
        return enumerate(csv_rows(path, text, "\t"), 1)
    header = re.sub('"[^"]*"', "", first)
    marks = [mark for mark in ",;\t" if mark in header] or [","]
    if len(marks) > 1:
        one, other = marks[:2]
        problem = f"the header has {one!r} and {other!r}: put sep={one} or sep={other} into a line"
        raise refusal(path, f"{problem} before it")
    return enumerate(csv_rows(path, text, marks[0]), 1)


def _sheet(path, name):
    """Numbered rows of the one sheet of a workbook, or of the named one; formulas have values."""
    sheets = {sheet.name: sheet for sheet in read_book(path).sheets}
    if name is None and len(sheets) == 1:
        name = next(iter(sheets))
    if name not in sheets:
        raise refusal(path, f"has the sheets {listed(sheets)}: type {to_type('rows', 'SHEET')}")
    sheet = sheets[name]
    require_values(path, sheet.name, sheet.table)
    yield sheet.head, list(sheet.table)
    for row, cells in zip(sheet.table.index, sheet.table.to_numpy(), strict=True):
        yield int(row), [cell_text(cell) for cell in cells]


def _list_of_rows(path, rows, parse, alone):
    """The list of a JSON file: all of it, or what `rows` names."""
    content = read_json(path, parse=parse)
    found = part_of(content, rows.split(".")) if rows else content
    if alone and isinstance(found, dict):
        found = [found]
    if not isinstance(found, list):
        there = listed(_lists_within(content))
        way = to_type("rows", "PATH")
        raise refusal(path, f"is no list of rows: type {way}; its lists of objects: {there}")
    for number, record in enumerate(found, 1):
        if not isinstance(record, dict):
            raise refusal(path, f"is no object: {short(record)}", number)
    return found


def _lists_within(content, part=""):
    """Paths of the lists of objects in an object."""
    for name, value in content.items() if isinstance(content, dict) else ():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield f"{part}{name}"
        yield from _lists_within(value, f"{part}{name}.")


def _of_cells(path, rows):
    """Take the first filled row for the names of columns; empty rows are left out."""
    filled = {number: cells for number, cells in rows if any(cells)}
    if len(filled) < 2:
        raise refusal(path, "has no rows under a header")
    names = [name.strip() for name in filled.pop(min(filled))]
    _check_names(path, names)
    for number, cells in filled.items():
        if len(cells) != len(names):
            problem = f"has {len(cells)} cells, the header {len(names)}: put a cell that holds"
            raise refusal(path, f"{problem} the separator in quotes, a decimal comma too", number)
    table = pd.DataFrame(list(filled.values()), list(filled), names, dtype=object)
    if "" in table and not table[""].any():
        table = table.drop(columns="")
    return table


def _of_records(path, numbered):
    """Take the objects of a file for rows, and their members for columns."""
    records = dict(numbered)
    if not records:
        raise refusal(path, "has no rows")
    _check_names(path, {name for record in records.values() for name in record})
    return pd.DataFrame(list(records.values()), list(records), dtype=object)


def _parquet(path):
    """Numbered objects of a parquet file."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            f"{path}: parquet needs the package pyarrow: pip install pyarrow, or write JSON lines"
        ) from None
    try:
        return enumerate(pyarrow.parquet.read_table(path).to_pylist(), 1)
    except (pyarrow.ArrowException, OSError) as error:
        raise refusal(path, f"is no parquet file, or is damaged: {error}") from error


def records_of(table):
    """Yield (row of the file, record) of a table, without the members that a record has not."""
    for row, record in zip(table.index, table.to_dict("records"), strict=True):
        yield row, {name: cell for name, cell in record.items() if cell == cell}


def _check_names(path, names):
    """Refuse too many columns, and two of one name."""
    if len(names) > MOST_COLUMNS:
        problem = f"has {len(names):,} columns, more than {MOST_COLUMNS:,}"
        raise refusal(path, f"{problem}: give a row to each of what stands in columns")
    for name, n in Counter(names).items():
        if n > 1:
            raise refusal(path, f"column {short(name)} stands twice in the header: rename one")


# --- columns and their roles


def cell_text(value):
    """A cell as text, a whole number without a point; lists and objects stay."""
    if isinstance(value, str | list | dict):
        return value
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def part_of(value, path):
    """Part of a nested value: names, places in a list, and ``*`` for each of a list."""
    for position, name in enumerate(path):
        whole = ".".join(path[position:])
        if isinstance(value, dict):
            if whole in value:
                return value[whole]
            value = value.get(name)
        elif isinstance(value, list) and name == "*":
            return [part_of(each, path[position + 1 :]) for each in value]
        elif isinstance(value, list) and re.fullmatch(r"-?\d+", name):
            value = next(iter(value[int(name) :]), None)
        else:
            return None
    return value


def _column(table, name):
    """A column by its name, or a part of it by its path: (column, cells)."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        head = ".".join(parts[:size])
        if head in table:
            return head, [cell_text(part_of(value, parts[size:])) for value in table[head]]
    return None, []


def _names_within(table):
    """Names of columns; of one that holds objects, the paths of their members."""
    for name in table:
        member = next((value for value in table[name] if value == value and value), None)
        yield from _paths(name, member)


def _paths(name, value):
    if not isinstance(value, dict):
        yield name
        return
    for member, inner in value.items():
        yield from _paths(f"{name}.{member}", inner)


def read_roles(table, door, needed, columns=None, values=None, lists="json", further=(), hint=""):
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
    further : dict or sequence of str
        Columns without a role, as scores: names, or names and columns.
    hint : str
        What else may be typed.

    Returns
    -------
    Reading

    Raises
    ------
    InputError
        In one line of at most 300 characters.
    """
    path = table.attrs["path"]
    further = dict(further) if isinstance(further, dict) else {name: name for name in further}
    chosen = _chosen(table, door, columns or {}, further)
    for role in [role for role in chosen if role not in (*needed, *(columns or ()))]:
        if not table[chosen[role]].map(cell_text).map(bool).any():
            del chosen[role]  # an empty column says nothing
    lacking = [role for role in needed if role not in chosen]
    if lacking:
        raise refusal(path, _lacking(table, door, lacking, chosen, further) + hint)
    chosen |= further
    cells = {}
    read = set()
    for role, name in chosen.items():
        column, cells[role] = _column(table, name)
        if column is None or (column != name and not any(cells[role])):
            there = list(_names_within(table))
            guess = did_you_mean(name, there)
            raise refusal(path, f"has no {short(name)} for {role}{guess}; it has {listed(there)}")
        read.add(column)
    unread = [name for name in table if name not in read]
    frame = pd.DataFrame(cells, table.index, dtype=object)
    values = {word: cell_text(meaning) for word, meaning in (values or {}).items()}
    return Reading(path, frame, chosen, unread, list(further), values, lists)


def _chosen(table, door, columns, further):
    """The column of each role: as told, else the one that has a listed name."""
    for role in columns:
        if role not in ROLES[door]:
            guess = did_you_mean(role, ROLES[door])
            roles = listed(ROLES[door], most=20)
            raise InputError(f"columns: {short(role)} is no role here{guess}: choose from {roles}")
    chosen = {}
    for role, names in ROLES[door].items():
        there = [name for name in names if name in table.columns.difference(further.values())]
        if role in columns:
            there = [columns[role]]
        if len(there) > 1:
            ways = " or ".join(to_type("columns", {role: name}) for name in there)
            raise refusal(table.attrs["path"], f"{listed(there)} may each be the {role}: {ways}")
        if there and there != ["-"]:
            chosen[role] = there[0]
    return chosen


def _lacking(table, door, lacking, chosen, further):
    """What a file lacks, what it has, and what to type: a near name is proposed, never read."""
    taken = {*chosen.values(), *further.values()}
    there = list(_names_within(table))
    others = [name for name in there if name not in taken]
    proposed = {}
    for role, names in ROLES[door].items():
        if role not in chosen:
            proposed[role] = _near(names, others)
    if len(others) == len(lacking) == 1:
        proposed[lacking[0]] = others[0]
    typed = {role: proposed[role] or "COLUMN" for role in lacking}
    typed |= {role: name for role, name in proposed.items() if name}
    no = "; ".join(f"{role} ({', '.join(ROLES[door][role])})" for role in lacking)
    start = f"has no {no}; it has {listed(there)}: type "
    room = LONGEST - len(start) - min(len(str(table.attrs["path"])), 80) - len(": ")
    return start + to_type("columns", typed, room)


def _near(names, columns):
    """The one column, or path, that has nearly one of some names; None if there are more."""
    by_end = {}
    for column in columns:
        by_end.setdefault(column.rpartition(".")[2], []).append(column)
    near = set()
    for name in names:
        for end in near_names(name, by_end, 3):
            near.update(by_end[end])
    return near.pop() if len(near) == 1 else None


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

    def __str__(self):
        return reading_text(self.record() | {"file": str(self.path)})

    def record(self):
        """The same for the record of a run, a row of a table of files; no folder is in it."""
        pairs = self.columns.items()
        return {
            "file": self.path.name,
            "rows": len(self.table),
            "read": ", ".join(
                role if role == name else f"{role} = {name!r}" for role, name in pairs
            ),
            "not read": ", ".join(map(str, self.unread)) or "nothing",
            "notes": "; ".join(self.notes),
        }

    def __contains__(self, role):
        return role in self.columns

    def refuse(self, row, problem):
        """Refuse the file for one of its rows."""
        raise refusal(self.path, problem, row)

    def refuse_repeats(self, *roles, hint=""):
        """Refuse two rows that have the same in all of some roles."""
        repeats = self.table[list(roles)][self.table.duplicated(list(roles))]
        for row, cells in repeats[:1].iterrows():
            same = ", ".join(f"{role} {short(cell)}" for role, cell in cells.items())
            self.refuse(row, f"{same} stands in an earlier row already: keep one{hint}")

    def cells(self, role):
        """Cells as they are."""
        return self.table.get(role, pd.Series("", self.table.index, dtype=object))

    def texts(self, role, may_be_empty=False):
        """Cells that are text."""
        cells = self.cells(role)
        column = self.columns.get(role, role)
        for row, cell in cells[~cells.map(_is_text)].items():
            part = next(iter(cell), "text") if isinstance(cell, dict) else "0.text"
            part = to_type("columns", {role: f"{column}.{part}"})
            self.refuse(row, f"{role} is {short(cell)}: say which part of it, as in {part}")
        if not may_be_empty:
            for row in cells.index[cells.str.strip() == ""][:1]:
                self.refuse(row, f"{role} (column {short(column)}) is empty")
        return cells

    def lists(self, role):
        """Cells as lists of texts, None where empty; see `read_roles` of how they are written."""
        cells = self.cells(role)
        lists = [_list_of(cell, self.lists_as) for cell in cells]
        for (row, cell), texts in zip(cells.items(), lists, strict=True):
            if texts is None and isinstance(cell, list):
                part = to_type("columns", {role: f"{self.columns[role]}.*.text"})
                self.refuse(row, f"{role} {short(cell)}: say which part of each is text: {part}")
            if texts is None and cell != "":
                ways = (
                    f"{to_type('lists', 'one')} (a single text), python (['a', 'b']), or the mark: "
                )
                ways += to_type("lists", "|")
                self.refuse(row, f"{role} {short(cell)} is no JSON list of texts: type {ways}")
        return pd.Series(lists, cells.index, dtype=object)

    def numbers(self, role, hint=""):
        """Cells as numbers, NaN where empty."""
        words = self._meanings(self.texts(role, may_be_empty=True)).astype(str)
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
        for word, meaning in self.values.items() if allowed else ():
            if meaning not in ("", *allowed):
                problem = f"values: {short(word)} is mapped to {short(meaning)}, which is none of"
                raise InputError(f"{problem} {', '.join(allowed)}")
        doubts = _doubts(words[words != ""].unique(), self.values, allowed, others)
        if doubts:
            row = words.index[words.isin(list(doubts))][0]
            own = f"LABEL: {', '.join(allowed)}" if allowed else "WORD=WORD keeps it"
            found = listed(map(repr, doubts))
            way = f"type {to_type('values', doubts)} (WORD= is missing; {own})"
            self.refuse(row, f"{role}: what do these words mean: {found}? {way}")
        return self._meanings(words)

    def _meanings(self, words):
        return words.map(lambda word: self.values.get(word, word))

    def names(self, role):
        """Cells that name somebody or something; two spellings of one name are refused."""
        words = self.texts(role)
        spellings = {}
        for word in words.unique():
            usual = spellings.setdefault(_folded(word), word)
            if usual != word:
                row = words.index[words == word][0]
                problem = f"{role} {short(word)} is {short(usual)} but for case or blanks"
                self.refuse(row, f"{problem}: write one of them")
        return words


def reading_text(record):
    """A reading in words, of its record."""
    read = f"{record['rows']} rows; read: {record['read']}; not read: {record['not read']}"
    return f"{record['file']}: {read}" + (f"\n  {record['notes']}" if record["notes"] else "")


def _is_text(cell):
    return isinstance(cell, str)


def _list_of(cell, lists_as):
    """The texts of a cell; None if it is empty or not written as told."""
    if cell == "":
        return None
    if isinstance(cell, str):
        if lists_as == "one":
            return [cell]
        if lists_as not in ("json", "python"):
            return cell.split(lists_as)
        try:
            cell = parse_cells(cell) if lists_as == "json" else _printed_list(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
    is_list = isinstance(cell, list) and all(map(_is_text, cell))
    return cell if is_list else None


def _printed_list(text):
    """A list as Python prints it; one of numpy has no commas, and Python would join its texts."""
    value = ast.literal_eval(text)
    return value if repr(value) == text else None


def _doubts(words, values, allowed, others):
    """Words of which nobody said what they mean, each with a likely meaning."""
    known = {_folded(label): label for label in (*values.values(), *allowed)}
    known |= {_folded(word): meaning for word, meaning in values.items()}
    doubts = {}
    for word in words:
        folded = _folded(word)
        if allowed and not others:
            likely = known.get(folded, "LABEL")
        else:
            likely = known.setdefault(folded, word)
        if folded in ROLES["missing"] and word not in allowed:
            likely = ""
        if likely != word and word not in values:
            doubts[word] = likely
    return doubts


def _folded(word):
    return " ".join(word.casefold().replace("_", " ").split())
