"""Returned forms: every cell read, every defect named, nothing left out unsaid; then joined with the key."""

import re
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pandas as pd

from casebook.errors import InputError
from casebook.files import new_folder, sha256_file, write_json, write_text
from casebook.raters.design import text_hash
from casebook.raters.forms import (
    ABOUT_SHEET,
    GUESS,
    KEY,
    KEY_SCHEMA,
    LIKERT,
    PAIRED,
    PAIRED_WITH_GUESS,
    PREREGISTRATION,
    RUBRIC_SHEET,
    SCALES,
    SEALED,
    SHEET,
)
from casebook.readers import read_json
from casebook.sheets import KINDS, Formula, Grid, header_of, read_book, table_for_csv, value_of

NOTE, REPAIRED, LOST = "note", "repaired", "lost"
OWN_SHEETS = {RUBRIC_SHEET, ABOUT_SHEET}
SIDE_COLUMN = "_rag_side_for_analysis"
RAG, BASE = "RAG", "BASE"
_WHOLE = re.compile(r"[+-]?\d+(\.0*)?")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")


@dataclass(frozen=True)
class Defect:
    """One thing that is not as it should be in a returned form."""

    file: str
    sheet: str
    row: int | None
    column: str | None
    kind: str
    found: str
    effect: str


def defect_table(defects):
    """Give defects as a table."""
    return pd.DataFrame([asdict(defect) for defect in defects], columns=list(Defect.__dataclass_fields__))


def shortened(value, most=60):
    """Show a cell's content in a message."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


@dataclass(frozen=True)
class ReturnedForm:
    """One rater's form as it came back."""

    path: Path
    rater: str
    layout: object
    sheet: str
    rows: pd.DataFrame
    about: dict
    defects: tuple


def read_forms(paths, columns=None):
    r"""Read returned forms, ours or in the documented layout.

    Parameters
    ----------
    paths : path-like or sequence of path-like
        Workbooks (.xlsx, .xlsm), CSV, or folders of them.
    columns : dict of str, optional
        Documented column to its name in the files, such as ``{"preferred": "choice"}``.

    Returns
    -------
    list of ReturnedForm
        One per file: ``rater`` (the file's base name), ``layout``, ``rows`` (one per judgement, ratings NaN where
        missing) and ``defects``, each with file, sheet, row, column and what became of it.

    Raises
    ------
    InputError
        If a file is no form or damaged, is given twice, or needs the value of a formula that was not stored.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     form = Path(folder, "ann.csv")
    ...     _ = form.write_text("prompt_id,preferred,factuality_s1\n1,S1,4\n2,tie,9\n")
    ...     (found,) = read_forms([form])
    >>> found.rater, found.rows["preferred"].tolist()
    ('ann', ['S1', 'Tie'])
    >>> [(defect.row, defect.kind, defect.effect) for defect in found.defects if defect.row == 3]
    [(3, 'spelling', 'repaired'), (3, 'out_of_range', 'lost')]
    """
    files = expand(paths)
    twice = [str(path) for path, count in Counter(path.resolve() for path in files).items() if count > 1]
    if twice:
        raise InputError(f"{twice[0]}: is given twice")
    names = Counter(path.stem for path in files)
    return [_labelled(read_form(path, columns), names[path.stem] > 1) for path in files]


def expand(paths):
    """List the forms among files and folders, or of a single one."""
    files, paths = [], [paths] if isinstance(paths, str | Path) else list(paths)
    for path in map(Path, paths):
        inside = sorted(path.iterdir()) if path.is_dir() else ()
        # Spreadsheets leave a lock file beside an open workbook.
        forms = [p for p in inside if p.suffix.lower() in KINDS and not p.name.startswith(("~$", "."))]
        files += forms if path.is_dir() else [path]
    if not files:
        places = ", ".join(map(str, paths)) or "nothing was named"
        raise InputError(f"{places}: no forms ({', '.join(KINDS)}) to read")
    return files


def _labelled(form, shared):
    """Tell files of one base name apart by their folders."""
    if not shared:
        return form
    rater = f"{form.path.resolve().parent.name}/{form.path.stem}"
    found = f"another file has this base name; called {rater} here"
    defect = Defect(str(form.path), "", None, None, "same_name", found, NOTE)
    return replace(form, rater=rater, defects=(*form.defects, defect))


def read_form(path, columns=None):
    """Read one returned form."""
    book = read_book(path)
    grids, found = renamed(book.path, book.grids, columns or {}), []

    def report(sheet, row, column, kind, content, effect):
        found.append(Defect(str(book.path), sheet, row, column, kind, content, effect))

    for kind, text in book.remarks:
        report("", None, None, kind, text, NOTE)
    grid, layout = _ratings(book.path, grids, report)
    rows = _rows(book.path, grid, layout, report)
    about = {}
    for sheet in grids:
        if sheet.name == ABOUT_SHEET:
            about = {str(row[0]): str(row[1]) for row in sheet.rows.values() if len(row) > 1 and row[1] is not None}
    return ReturnedForm(book.path, book.path.stem, layout, grid.name, rows, about, tuple(found))


def renamed(path, grids, columns):
    """Give sheets their documented column names: `columns` maps those to the file's."""
    missing, found = dict(columns), []
    for grid in grids:
        head, names = header_of(grid)
        for wanted, given in columns.items():
            if given in names:
                missing.pop(wanted, None)
                # What stood under the documented name is another column.
                names = [f"{name} (own)" if name == wanted != given else name for name in names]
                names[names.index(given)] = wanted
        rows = grid.rows | ({head: tuple(name or None for name in names)} if head else {})
        found.append(Grid(grid.name, rows, grid.hidden))
    for wanted, given in missing.items():
        raise InputError(f"{path}: no column {given!r}, which is to be read as {wanted!r}; {_columns(grids)}")
    return tuple(found)


def _columns(grids):
    """Say which columns there are."""
    own = [grid for grid in grids if grid.name not in OWN_SHEETS]
    names = [", ".join(name for name in header_of(grid)[1] if name) or "none" for grid in own]
    listed = [f"sheet {grid.name!r} has {known}" for grid, known in zip(own, names, strict=True)]
    return "; ".join(listed) or "there is no other sheet"


def _ratings(path, grids, report):
    """Find the sheet with the ratings, and its layout; name what else there is."""
    usable = {}
    for number, grid in enumerate(grids):
        names = set(header_of(grid)[1])
        if "preferred" in names:
            usable[number] = PAIRED_WITH_GUESS if GUESS.name in names else PAIRED
        elif names & {column.name for column in LIKERT.answers}:
            usable[number] = LIKERT
    if not usable:
        raise InputError(
            f"{path}: no column 'preferred' (the vote: S1, S2 or Tie); "
            f"{_columns(grids)}: name it with --map preferred=COLUMN"
        )
    named = [number for number in usable if grids[number].name == SHEET]
    chosen = (named or list(usable))[0]
    if not named and path.suffix.lower() != ".csv":
        report(SHEET, None, None, "missing_sheet", f"{grids[chosen].name} read instead", NOTE)
    for number, other in enumerate(grids):
        if number != chosen and other.name not in OWN_SHEETS:
            found = f"{'hidden, ' if other.hidden else ''}{len(other.rows)} rows"
            report(other.name, None, None, "extra_sheet", found, NOTE)
    if grids[chosen].hidden:
        report(grids[chosen].name, None, None, "hidden_sheet", "the ratings are hidden", NOTE)
    return grids[chosen], usable[chosen]


# --- cells ------------------------------------------------------------------


def _rows(path, grid, layout, report):
    """Read the rows below the header, cell by cell."""
    head, names = header_of(grid)
    places = {}
    for place, name in enumerate(names):
        if name and name in places:
            report(grid.name, head, name, "repeated_column", "the first one is read", NOTE)
        elif name:
            places[name] = place
    for column in layout.columns:
        if column.name not in places and column.required:
            report(grid.name, head, column.name, "missing_column", "", LOST)
    for name in places:
        if name not in layout.names:
            report(grid.name, head, name, "extra_column", "not one of the form", NOTE)

    def read_row(number, content):
        def cell(name):
            place = places.get(name, len(content))
            return content[place] if place < len(content) else None

        row = {"row": number}
        for column in layout.columns:
            value = cell(column.name)
            if column.kind != "note":
                value = value_of(path, grid.name, number, column.name, value)
            row[column.name], problem = _read_cell(column, value)
            if problem and column.name in places and (column.required or problem[0] != "blank"):
                report(grid.name, number, column.name, *problem)
        row |= {name: cell(name) for name in places if name not in row}
        for place, content_of in enumerate(content):
            if isinstance(content_of, Formula):
                name = next((n for n, p in places.items() if p == place), f"number {place + 1}")
                report(grid.name, number, name, "formula", shortened(content_of.text), NOTE)
        return row

    rows = [read_row(number, content) for number, content in grid.rows.items() if number > head]
    frame = pd.DataFrame(rows, columns=None if rows else ["row", *layout.names])
    if layout.key not in places:
        frame[layout.key] = frame["row"].astype(str)
    ratings = {column.name: float for column in layout.columns if column.kind == "rating"}
    return _without_duplicates(frame.astype(ratings), grid.name, layout, report)


def _read_cell(column, value):
    """Give what a cell says, and the problem with it (kind, content, effect) or None."""
    if column.locked:
        return "" if value is None else str(value), None
    if column.kind == "note":
        if isinstance(value, Formula):
            value = value.text if value.value is None else value.value
        return "" if value is None else str(value), None
    if value is None or (isinstance(value, str) and not value.strip()):
        return None, ("blank", "", LOST)
    shown, text = shortened(value), str(value).strip()
    if column.kind == "choice":
        choice = next((c for c in column.choices if c.casefold() == text.casefold()), None)
        if choice is None:
            return None, ("not_a_choice", shown, LOST)
        return choice, None if value == choice else ("spelling", shown, REPAIRED)
    number = isinstance(value, int | float | str) and not isinstance(value, bool) and _NUMBER.fullmatch(text)
    if not number:
        return None, ("not_a_number", shown, LOST)
    if not _WHOLE.fullmatch(text):
        return None, ("not_whole", shown, LOST)
    if float(text) not in column.choices:  # infinite too, of hundreds of digits
        return None, ("out_of_range", shown, LOST)
    rating = int(float(text))
    repaired = isinstance(value, str) and value != str(rating)
    return rating, ("spelling", shown, REPAIRED) if repaired else None


def _without_duplicates(frame, sheet, layout, report):
    """Of rows with one id keep the first if they agree, else none."""
    answers = [column.name for column in layout.answers]
    dropped = frame.loc[frame[layout.key] == "", "row"].tolist()
    for number in dropped:
        report(sheet, number, layout.key, "no_id", "", LOST)
    named = frame[frame[layout.key] != ""]
    for identity, rows in named[named.duplicated(layout.key, keep=False)].groupby(layout.key, sort=False):
        same = len(rows[answers].drop_duplicates()) == 1
        numbers = rows["row"].tolist()
        text = f"{identity} in rows {', '.join(map(str, numbers))}"
        for number in numbers[1:]:
            report(sheet, number, layout.key, "duplicate", text, NOTE if same else LOST)
        dropped = [*dropped, *(numbers[1:] if same else numbers)]
    return frame[~frame["row"].isin(dropped)].reset_index(drop=True)


# --- the key ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Votes:
    """Judgements of a panel with the systems behind them."""

    frame: pd.DataFrame
    systems: tuple
    focus: str
    raters: tuple
    defects: tuple
    absent: tuple = ()
    margin: tuple | None = None  # win rates that count as no difference, if they were registered


def open_forms(forms, key=None, side_column=None, last_column=False, force=False):
    r"""Unblind forms of preferences with the sealed key, or with the key that they carry in a column.

    Parameters
    ----------
    forms : list of ReturnedForm
        As `read_forms` gives them.
    key : path-like, optional
        The sealed key, or the folder of the study; by default the key that lies with the forms.
    side_column : str, optional
        Column that says on which side, S1 or S2, the system under study stands; the documented one by default.
    last_column : bool, default False
        Take the last column for it, if there is none of that name.
    force : bool, default False
        Unblind although forms are missing.

    Returns
    -------
    Votes
        ``frame`` with a row per judgement (rater, item_id, place, left, right, choice, ratings by side, texts),
        systems, focus, raters and defects.

    Raises
    ------
    InputError
        If the forms are blind and no key is given, forms are missing, or forms and key do not belong together.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     form = Path(folder, "ann.csv")
    ...     _ = form.write_text("prompt_text,preferred,_rag_side_for_analysis\nWhy?,S1,S2\nHow?,Tie,S1\n")
    ...     open_forms(read_forms([form])).frame[["item_id", "left", "choice"]].values.tolist()
    [['Why?', 'BASE', 'BASE'], ['How?', 'RAG', 'Tie']]
    """
    for form in forms:
        if form.layout.name != "paired":
            raise InputError(f"{form.path}: is a Likert form; give forms that ask for a preference")
    if not (side_column or last_column):
        key = key or key_beside(forms)
    if key is not None:
        votes = replace(unblind(forms, find_key(key), force=force), margin=registered_margin(key))
    elif any(form.about for form in forms) and not side_column:
        raise InputError(f"{forms[0].path}: these forms are blind: give the sealed key, or the folder of the study")
    else:
        votes = read_votes(forms, side_column, last_column=last_column)
    if votes.frame["choice"].isna().all():
        raise InputError(f"{forms[0].path}: no form holds a judgement; are they filled?")
    return votes


def key_beside(forms):
    """Find the key of a study in the folder of its forms, or above it; forms that carry their key need none."""
    if any(SIDE_COLUMN in form.rows for form in forms):
        return None
    for folder in dict.fromkeys(
        place for form in forms for place in (form.path.parent, form.path.resolve().parents[1])
    ):
        for file in (folder / KEY, folder / SEALED / KEY):
            if file.is_file():
                return file
    return None


def read_key(path):
    """Read the key of a study."""
    key = read_json(path)
    required = ("schema", "study", "layout", "secret", "systems", "forms")
    missing = [name for name in required if not isinstance(key, dict) or name not in key]
    if missing or key["schema"] != KEY_SCHEMA:
        lacks = f" (it lacks {', '.join(missing)})" if missing else ""
        raise InputError(f"{path}: is no key of a rater study{lacks}; give key.json")
    return key


def _key_file(path):
    path = Path(path)
    return path / SEALED / KEY if path.is_dir() else path


def _registration(path):
    """Read the pre-registration beside a key; without one it is empty."""
    file = _key_file(path).parent.parent / PREREGISTRATION
    if not file.is_file():
        return {}
    found = read_json(file)
    if not isinstance(found, dict) or "key_sha256" not in found:
        raise InputError(f"{file}: is no pre-registration: key_sha256 is missing")
    return found


def find_key(path):
    """Read the key of a study and hold it against the pre-registration beside it."""
    file = _key_file(path)
    key, registered = read_key(file), _registration(path)
    if registered and registered["key_sha256"] != sha256_file(file):
        raise InputError(
            f"{file}: is not the key that was registered: its SHA-256 differs from that in {PREREGISTRATION}"
        )
    return key


def registered_margin(path):
    """Give the range of no difference that was fixed beforehand, or None."""
    found = _registration(path).get("primary", {}).get("no_difference")
    return tuple(found) if found else None


def unblind(forms, key, *, force=False):
    """Join forms of preferences with the key."""
    rows, defects, absent = _opened(forms, key, "paired", force)
    strata = {row["item_id"]: row["stratum"] for row in key["draw"]}
    frame = pd.DataFrame(
        {
            **{"rater": sealed["rater"], "item_id": sealed["item"], "place": sealed["place"]},
            **judgement(shown, sealed["left"], sealed["right"]),
            "stratum": strata.get(sealed["item"], "all"),
        }
        for sealed, shown in rows
    )
    raters = tuple(rater for rater in key["forms"] if rater not in absent)
    return Votes(frame, tuple(key["systems"]), key["focus"], raters, defects, absent)


def unblind_likert(forms, key, *, force=False):
    """Join Likert forms with the key: the frame of ratings, and the defects."""
    rows, defects, _ = _opened(forms, key, "likert", force)
    names = {"rater": "rater", "item_id": "item", "chunk": "chunk", "system": "system"}
    given = [*(column.name for column in LIKERT.answers), "notes"]
    frame = pd.DataFrame(
        {name: sealed[known] for name, known in names.items()} | {name: shown[name] for name in given}
        for sealed, shown in rows
    )
    return frame, defects


def _opened(forms, key, layout, force):
    if key["layout"] != layout:
        raise InputError(f"the key is of {key['layout']} forms, not of {layout} ones")
    owners = _owners(forms, key)
    absent = tuple(rater for rater in key["forms"] if rater not in owners)
    if absent and not force:
        raise InputError(
            f"{len(absent)} of {len(key['forms'])} forms are not in "
            f"({', '.join(absent)}): unblind when they are, or force it"
        )
    if not owners:
        raise InputError("no form of this study is in")
    rows, defects = [], [defect for form in forms for defect in form.defects]
    for rater in (rater for rater in key["forms"] if rater in owners):
        rows += _joined(owners[rater], rater, key["forms"][rater]["rows"], defects)
    return rows, tuple(defects), absent


def _owners(forms, key):
    """Find whose form each file is: by the ids in it, whatever its name."""
    rater_of = {row["id"]: rater for rater, form in key["forms"].items() for row in form["rows"]}
    owners = {}
    for form in forms:
        found = Counter(rater_of[i] for i in form.rows[form.layout.key] if i in rater_of)
        if not found:
            raise InputError(f"{form.path}: none of its ids is in the key: another study, or edited ids")
        rater = max(found, key=found.get)
        if rater in owners:
            raise InputError(f"{form.path}: form of {rater} is in already: {owners[rater].path}")
        owners[rater] = form
    return owners


def _joined(form, rater, sealed, defects):
    """Pair the rows of a form with the key's; name what does not fit."""

    def report(row, column, kind, found, effect):
        defects.append(Defect(str(form.path), form.sheet, row, column, kind, found, effect))

    name, expected = form.layout.key, {row["id"]: row for row in sealed}
    shown = {row[name]: row for row in form.rows.to_dict("records")}
    for identity, row in shown.items():
        if identity not in expected:
            report(row["row"], name, "unknown_id", identity, LOST)
    for place, identity in enumerate(expected, start=1):
        if identity not in shown:
            report(None, name, "missing_row", f"{identity}, row {place + 1}", LOST)
    order = [identity for identity in shown if identity in expected]
    if order != [identity for identity in expected if identity in shown]:
        report(None, name, "reordered", "rows are joined by their ids", NOTE)
    pairs = []
    for place, identity in enumerate(order, start=1):
        row, known = shown[identity], expected[identity]
        for column, digest in known["texts"].items():
            if text_hash(row[column].replace("\r\n", "\n").replace("\r", "\n")) != digest:
                report(row["row"], column, "edited_text", "not as sent out", NOTE)
        pairs.append((known | {"rater": rater, "place": place}, row))
    return pairs


def judgement(shown, left, right):
    """Say what one row of a form means, given the systems behind its sides."""
    meaning = {"S1": left, "S2": right, "Tie": "Tie" if left else None}
    sides = (("left", "s1"), ("right", "s2"))
    return {
        "row": shown["row"],
        "left": left,
        "right": right,
        "preferred": shown["preferred"],
        "choice": meaning.get(shown["preferred"]),
        **{f"{scale}_{side}": shown[f"{scale}_{s}"] for side, s in sides for scale in SCALES},
        "comment": shown["comment"],
        "guess": shown.get("guess"),
        "prompt": shown["prompt_text"],
        "text_left": shown["system1_output"],
        "text_right": shown["system2_output"],
    }


# --- the documented layout, which carries its key in a column --------------------------


def read_votes(forms, side_column=None, *, last_column=False):
    """Give the judgements of forms that carry their key."""
    defects, rows = [], []
    for form in forms:
        defects += form.defects
        column = key_column(form, side_column, last_column=last_column)
        if form.rows.empty:
            raise InputError(f"{form.path}: sheet {form.sheet!r} has no rows")
        rows += _carried(form, column, defects)
    return Votes(pd.DataFrame(rows), (RAG, BASE), RAG, tuple(form.rater for form in forms), tuple(defects))


def key_column(form, side_column=None, *, last_column=False):
    """Find the column that says which side is the system under study; none is guessed."""
    wanted = side_column or SIDE_COLUMN
    columns = [name for name in form.rows if name != "row"]
    if wanted in columns:
        return wanted
    if last_column and columns:
        return columns[-1]
    raise InputError(
        f"{form.path}: sheet {form.sheet!r} has no key column {wanted!r} (which side, "
        f"S1 or S2, is the system under study); it has {', '.join(columns)}: name it "
        "with --side-col, give the sealed key with --key, or allow the last column "
        "with --last-column"
    )


def _carried(form, column, defects):
    def report(row, name, kind, found):
        defects.append(Defect(str(form.path), form.sheet, row, name, kind, found, LOST))

    seen, name = set(), _item_column(form)
    for place, shown in enumerate(form.rows.to_dict("records"), start=1):
        item = " ".join(shown[name].split())
        if item in seen:
            report(shown["row"], name, "duplicate", shortened(item))
            continue
        seen.add(item)
        key = value_of(form.path, form.sheet, shown["row"], column, shown[column])
        side = key.strip() if isinstance(key, str) else None
        left, right = {"S1": (RAG, BASE), "S2": (BASE, RAG)}.get(side, (None, None))
        if left is None:
            report(shown["row"], column, "no_key", shortened(key))
        row = {"rater": form.rater, "item_id": item, "place": place}
        yield row | judgement(shown, left, right) | {"stratum": "all"}


def _item_column(form):
    """Give the column that names an item for all raters: its prompt, else its id."""
    if form.rows["prompt_text"].str.strip().any():
        return "prompt_text"
    gone = {defect.column for defect in form.defects if defect.kind == "missing_column"}
    if "prompt_id" in gone:
        names = ", ".join(name for name in form.rows if name not in {"row", *gone})
        raise InputError(
            f"{form.path}: sheet {form.sheet!r} has no column 'prompt_text' or "
            f"'prompt_id', which name the items; it has {names}: name one with --map "
            "prompt_text=COLUMN"
        )
    return "prompt_id"


# --- results out ------------------------------------------------------------------


def write_tables(folder, tables, values, figures):
    """Write tables as CSV, figures as SVG and everything as JSON into a new folder."""
    with new_folder(folder) as temporary:
        for name, table in tables.items():
            text = table_for_csv(table).to_csv(index=False, lineterminator="\n")
            write_text(temporary / "tables" / f"{name}.csv", text)
        for name, figure in figures.items():
            path = temporary / "figures" / f"{name}.svg"
            path.parent.mkdir(exist_ok=True)
            figure.savefig(path, format="svg", metadata={"Date": None})
        write_json(temporary / "analysis.json", values)
    return Path(folder)
