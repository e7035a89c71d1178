"""Logs of an assistant's answers: a table with a row per question and system.

Read are JSON lines, JSON, CSV and TSV, plain, .gz or .xz; workbooks; parquet, if pyarrow is there.
Besides our names of columns those of flat tables of RAGAS, DeepEval's test cases and LangSmith are
read.
"""

import ast
import json
import math
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictStr,
    StringConstraints,
    ValidationError,
)

from casebook.data.cards import first_problem
from casebook.data.folders import read_collection
from casebook.data.records import read_table
from casebook.data.registry import load
from casebook.errors import InputError
from casebook.paths import data_folder
from casebook.readers import did_you_mean, read_yaml, spelling
from casebook.text import UNSPACED, printable

ASSISTANT_WORDS = read_yaml(Path(__file__).with_name("names.yml"))
LOG_ALIASES = ASSISTANT_WORDS["columns"]
"""Each column and the names under which it is read, ours first."""
LOG_COLUMNS = (*LOG_ALIASES, "references", "no_answer", "scores")
_SPELLINGS = {column: [spelling(name) for name in names] for column, names in LOG_ALIASES.items()}
_READ = frozenset().union(*_SPELLINGS.values())
_EXACT = frozenset().union(*LOG_ALIASES.values())
_MOST_REASONS = 3  # that a note names
# Of a context that is an object, by priority.
TEXT_OF = ("text", "page_content", "content")
ID_OF = ("id", "doc_id", "_id", "chunk_id")
_SCORE_WORDS = {
    str(word): float(value)
    for value, words in ASSISTANT_WORDS["score_words"].items()
    for word in words
}
_SCORE_NAME = re.compile(
    r"faithful|relevan|precision|recall|correctness|similarity|grounded|hallucinat|score|metrics"
    r"|^correct$|^success$|^passed$|^pass$|^verdict$|^feedback\."
)
_NO_SCORE = re.compile("cost|(details|reason|explanation|label|threshold)$")


def read_log(paths, collection=None, columns=None, scores=()):
    """Read the answers of one or several systems to questions.

    Parameters
    ----------
    paths : path-like or list of path-like
        JSON lines, JSON, CSV, TSV, a workbook or parquet; see `LOG_ALIASES` for the names of
        columns that are understood, in any letter case. Without a column ``system``, the name of
        a file is that of its system.
    collection : str or path-like, optional
        Data set or BEIR folder, where the contexts are ids of it instead of texts.
    columns : dict, optional
        Column of a log to the field of the file that holds it, ``{"answer": "system_answer"}``;
        ``outputs.text`` names a field within another one. Such a field goes before the usual names.
    scores : sequence of str, optional
        Fields with scores of a tool or a judge, besides those that are recognised.

    Returns
    -------
    pandas.DataFrame
        A row per question and system: ``id``, ``question``, ``answer``, ``contexts`` (list of
        texts, None without retrieval), ``context_ids``, ``reference``, ``relevant`` (list of ids),
        ``system``, ``group`` (the question's id where none is named), ``abstained``, ``seconds``,
        ``cost``, ``human`` (what people say of the answer, a number; NaN where they say nothing),
        ``references`` (all, where a question has several), ``no_answer`` (why a run failed that
        gave none; its ``answer`` is then empty and is not scored), ``scores`` (name to number, NaN
        where undefined: what a tool or a judge wrote, on its own scale).
        ``attrs["copies"]`` lists rows left out because they repeat another one, ``attrs["notes"]``
        says what was not read, ``attrs["named"]`` whether questions have ids, and
        ``attrs["unread"]`` names a context that is an id where no collection was named.

    Raises
    ------
    InputError
        With file, row and remedy, if a row cannot be read, has no question or answer, or
        contradicts another; if a field that is named is in no file, or no column has the name.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> line = {"user_input": "May I cancel?", "response": "Yes."}
    >>> line["retrieved_contexts"] = ["You may cancel."]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "ragas.jsonl")
    ...     _ = path.write_text(json.dumps(line))
    ...     log = read_log(path)
    >>> log.loc[0, ["question", "answer", "system"]].tolist(), log["contexts"][0]
    (['May I cancel?', 'Yes.', 'ragas'], ['You may cancel.'])
    """
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    scores = [scores] if isinstance(scores, str) else list(scores or ())
    texts = None
    if collection:
        documents = documents_of(collection)
        texts = dict(zip(documents["doc_id"], documents["text"], strict=True))
    paths_of_columns = _checked_columns(columns)
    records = [
        (path, number, record) for path in map(Path, paths) for number, record in read_table(path)
    ]
    _check_fields([record for *_, record in records], columns, scores)
    rows = []
    for path, number, record in records:
        row = _checked_row(path, number, record, texts, paths_of_columns)
        row["scores"] |= _named_scores(record, scores, row["scores"])
        rows.append(row)
    notes = _read_numbers(rows, scores)
    contexts = [(row["where"], text) for row in rows for text in row["contexts"] or ()]
    unread = None
    if contexts and not collection and _look_like_ids(text for _, text in contexts):
        unread = contexts[0]
        for row in rows:
            row["context_ids"] = row["context_ids"] or row["contexts"]
            row["contexts"] = None
    rows, copies = _distinct(_last_tries(rows))
    log = pd.DataFrame([{name: row[name] for name in LOG_COLUMNS} for row in rows])
    log.attrs["copies"] = copies
    log.attrs["named"] = all(row["named"] for row in rows)
    log.attrs["unread"] = unread
    log.attrs["notes"] = _notes(rows, copies) + notes
    return log


def _checked_columns(columns):
    """Refuse what is no column of a log; give paths as they are compared."""
    for column in columns or {}:
        if column not in LOG_ALIASES:
            raise InputError(
                f"columns: {column!r} is no column of a log: choose from {', '.join(LOG_ALIASES)}"
                f"{did_you_mean(column, LOG_ALIASES, n=2)}"
            )
    return {column: spelling(name) for column, name in (columns or {}).items()}


def _check_fields(records, columns, scores):
    """Refuse the name of a field that no record has."""
    if not columns and not scores:
        return
    written = {path: name for record in records for path, name in field_names(record).items()}
    names = [("columns", name) for name in (columns or {}).values()]
    names += [("scores", name) for name in scores]
    for parameter, name in names:
        if spelling(name) not in written:
            nearest = did_you_mean(name, written.values(), n=2)
            raise InputError(
                f"{parameter}: the log has no field {name!r}{nearest}; "
                f"it has {', '.join(list(written.values())[:12])}"
            )


def _named_scores(record, names, recognised):
    """Give the scores of a record that are named, but for those that are recognised anyway."""
    further = [name for name in names if spelling(name) not in map(spelling, recognised)]
    fields = all_fields(record) if further else {}
    return {name: fields.get(spelling(name)) for name in further}


def _checked_row(path, number, record, texts, columns):
    """Give one record under our names, or refuse it with file, row and remedy."""
    try:
        return _row(path, number, record, texts, columns)
    except ValidationError as error:
        raise InputError.at(path, number, first_problem(error)) from None


def read_row(record):
    """Give one reply under our names, or refuse it: what passes here `read_log` reads."""
    return _checked_row(Path("reply"), 1, record, texts=None, columns={})


def _look_like_ids(texts):
    """Say whether no text has a blank, though its script would put some."""
    return not any(" " in text.strip() or UNSPACED.search(text) for text in texts)


def _notes(rows, copies):
    """Say what was left out of a log, and what is not read as somebody might think."""
    notes = not_answered(row["no_answer"] for row in rows)
    if copies:
        notes.append(f"{len(copies)} repeated rows are left out")
    cut_off = sum(row["cut_off"] for row in rows)
    if cut_off:
        notes.append(f"{cut_off} answers were cut off at the model's limit")
    return notes


def _read_numbers(rows, required):
    """Read scores and people's ratings as numbers, in place; say what is left out or no number."""
    notes = []
    fields = sorted({path for row in rows for path in row["human_fields"]} - {"human"})
    if fields:
        notes.append(f"ratings of people are read from {', '.join(fields)}")
    written = [row["human"] for row in rows]
    ratings, unread = _as_numbers(written)
    for row, rating in zip(rows, ratings, strict=True):
        row["human"] = rating
    if unread:
        n_written = sum(not is_missing(value) for value in written)
        notes.append(
            f"{len(unread)} of {n_written} ratings of people are no numbers, such as "
            f"{printable(str(unread[0]))[:40]!r}"
        )
    scores = {}
    no_scores = []
    for name in dict.fromkeys(name for row in rows for name in row["scores"]):
        numbers, unread = _as_numbers([row["scores"].get(name) for row in rows])
        if all(map(math.isnan, numbers)):
            no_scores.append(name)
            continue
        scores[name] = numbers
        if unread:
            example = printable(str(unread[0]))[:40]
            notes.append(f"score {name}: {len(unread)} values are no numbers, such as {example!r}")
    for position, row in enumerate(rows):
        row["scores"] = {name: numbers[position] for name, numbers in scores.items()}
    for name in required:
        if spelling(name) in map(spelling, no_scores):
            raise InputError(f"scores: the field {name!r} holds no number in any row")
    if scores:
        notes.insert(0, f"the log brings scores along: {', '.join(sorted(scores))}")
    if no_scores:
        notes.append(
            f"not read as scores, for they hold no numbers: {', '.join(sorted(no_scores))}"
        )
    return notes


def _as_numbers(written):
    """Give values as numbers, NaN for what is none, and those that are there and are none."""
    numbers = [score_number(value) for value in written]
    unread = [
        value
        for value, number in zip(written, numbers, strict=True)
        if math.isnan(number) and not is_missing(value)
    ]
    return numbers, unread


def not_answered(reasons):
    """Say how many rows have a reason instead of an answer, and the commonest reasons.

    Gives a list of one line, or of none.
    """
    counts = Counter(reason for reason in reasons if isinstance(reason, str))
    if not counts:
        return []
    reasons = [f"{count} × {reason[:100]}" for reason, count in counts.most_common(_MOST_REASONS)]
    if len(counts) > _MOST_REASONS:
        reasons.append(f"and {len(counts) - _MOST_REASONS} other reasons")
    return [f"not answered: {counts.total()} ({'; '.join(reasons)})"]


def checked_log(paths, collection=None, columns=None, scores=()):
    """Read a log in which there is something to measure, see `read_log`."""
    log = read_log(paths, collection, columns, scores)
    if log.attrs["unread"]:
        where, text = log.attrs["unread"]
        raise InputError(
            f"{where}: contexts such as {text[:40]!r} are no texts: write the texts, or name the "
            "data set or folder that they are ids of as collection"
        )
    if not (
        log["contexts"].map(bool).any()
        or log["reference"].notna().any()
        or log["scores"].map(bool).any()
        or len(log["system"].unique()) > 1
    ):
        raise InputError(
            f"{paths}: has neither contexts nor references nor a second system, so nothing can be "
            "measured: add a field 'contexts' or 'reference', name a second log, or say with "
            "columns= which of your fields they are"
        )
    return log


def check_systems(log, **systems):
    """Refuse systems that parameters name and that have no answers in a log."""
    there = log["system"].unique().tolist()
    for name, system in systems.items():
        if system and system not in there:
            raise InputError(
                f"{name}: the log has no system {system!r}{did_you_mean(system, there)}; "
                f"it has {', '.join(there)}"
            )
    if len(set(systems.values())) < len(systems) and any(systems.values()):
        raise InputError(f"{' and '.join(systems)} are the same system: choose another one")


def documents_of(name):
    """Read the documents of a folder, whatever its name, or of a data set."""
    if Path(name).is_dir():
        return read_collection(Path(name))
    folder = data_folder(name)
    if folder:
        return read_collection(folder[1])
    return load(str(name)).documents


# --- the fields of a record


def is_missing(value):
    """Whether a cell is empty: None, no text, or NaN."""
    return value is None or value == "" or value != value


def _flat(record):
    """Fields of a record by the spelling of their names."""
    # An exact name comes last, so that it counts most.
    names = sorted(record, key=_EXACT.__contains__)
    return {spelling(name): record[name] for name in names}


def all_fields(record, part=""):
    """Every field of a record, nested ones too, by the spelling of its path."""
    fields = {}
    for name, value in record.items():
        path = part + spelling(name)
        if isinstance(value, dict):
            fields |= all_fields(value, f"{path}.")
        fields[path] = value
    return fields


def field_names(record, part=""):
    """Names of all fields, nested ones too, as they are written, by their spelling."""
    names = {}
    for name, value in record.items():
        written = f"{part}{name}"
        names[spelling(written)] = written
        if isinstance(value, dict):
            names |= field_names(value, f"{written}.")
    return names


def scores_of(record, columns_of_a_log):
    """Scores that a tool or a judge wrote into a record, by name, as they are written."""
    scores = {}
    for name, value in record.items():
        path = spelling(name)
        if path in columns_of_a_log or _NO_SCORE.search(path):
            continue
        if _SCORE_NAME.search(path):
            scores[str(name)] = value
    return scores


def score_number(value):
    """A score as a number: of words such as ``pass`` 1 or 0; NaN if it is none."""
    if isinstance(value, str):
        text = value.strip()
        value = _SCORE_WORDS.get(text.lower(), text)
    if not isinstance(value, str | int | float):
        return math.nan
    with suppress(ValueError, OverflowError):
        number = float(value)
        if math.isfinite(number):
            return number
    return math.nan


# --- one record


def _list(value):
    """Read a cell's list: as JSON or Python wrote it, ids with grades, or a single one."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "array([")):
        with suppress(ValueError, RecursionError):
            return list(json.loads(value))
        return _printed_list(value.strip())
    if isinstance(value, dict):
        return [name for name, grade in value.items() if grade]
    return [value] if isinstance(value, str | int) else value


def _printed_list(text):
    """A list that Python printed; texts without a comma, as of numpy, it would join into one."""
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        values = ast.literal_eval(text)
        if repr(values) == text:
            return values
    raise ValueError("begins like a list and is none: write a list as JSON")


def _objects(value):
    return [value] if isinstance(value, dict) else _list(value)


def _references(value):
    """Read reference answers: one, or several."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):
            value = _list(value)
    if isinstance(value, list):
        return [each for each in value if not is_missing(each)] or None
    return None if is_missing(value) else [value]


Ids = Annotated[list[str] | None, BeforeValidator(_list)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)] | None


class _Answer(BaseModel):
    """One row of a log."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str | None
    question: Annotated[str, StringConstraints(strict=True, pattern=r"\S")]
    answer: StrictStr
    contexts: Annotated[list[StrictStr | int | dict] | None, BeforeValidator(_objects)]
    context_ids: Ids
    reference: Annotated[list[StrictStr] | None, BeforeValidator(_references)]
    relevant: Ids
    system: str | None
    group: str | None
    abstained: bool | None
    seconds: NonNegative
    cost: NonNegative
    no_answer: str | None


def _values(flat):
    """The value of each column of a record, None where it has none."""
    row = {}
    for column, names in _SPELLINGS.items():
        values = (flat[name] for name in names if name in flat)
        row[column] = next((value for value in values if not is_missing(value)), None)
    row["no_answer"] = None
    failed = flat.get("noanswer") or flat.get("error")
    if failed and not row["answer"]:
        row["no_answer"] = printable(str(failed))
    is_empty = any(flat.get(name) == "" for name in _SPELLINGS["answer"])
    if not row["answer"] and (failed or is_empty):
        row["answer"] = ""  # a run that failed has no answer
    return row


def _row(path, number, record, texts, columns):
    """Give one record under our names: checked, with contexts as texts and as ids."""
    fields = all_fields(record) if columns else {}
    where = f"{path}:{number}"
    flat = _renamed(_flat(record), fields, columns)
    row = _values(flat)
    _require(where, row, record, "question", "the question's text")
    _require(where, row, record, "answer", '"" where none was given')
    human = row.pop("human")
    row = _Answer.model_validate(row).model_dump()
    references = row["reference"]
    name = row["question"] if row["id"] is None else row["id"]
    for number_column in ("seconds", "cost"):
        if row[number_column] is None:
            row[number_column] = math.nan
    row |= _contexts(where, row["contexts"], row["context_ids"], texts)
    human_fields = [path for path in _SPELLINGS["human"] if not is_missing(flat.get(path))]
    return row | {
        "human": human,
        "human_fields": human_fields[:1],
        "scores": scores_of(record, _READ.union(columns.values())),
        "references": references,
        "reference": references[0] if references else None,
        "named": row["id"] is not None,
        "id": name,
        "group": name if row["group"] is None else row["group"],
        "system": row["system"] or path.name.split(".")[0],
        "where": where,
        "cut_off": flat.get("cutoff") is True,
    }


def _renamed(flat, fields, columns):
    """Give the fields that columns name under the columns' names, and under no other one."""
    values = {column: (path, fields[path]) for column, path in columns.items() if path in fields}
    for path, _ in values.values():
        flat.pop(path, None)
    for column, (_, value) in values.items():
        for name in _SPELLINGS[column]:
            flat.pop(name, None)
        flat[spelling(column)] = value
    return flat


def _require(where, row, record, column, remedy):
    if row[column] is None:
        aliases = ", ".join(LOG_ALIASES[column][:5])
        fields = ", ".join(sorted(map(str, record))[:8]) or "none"
        raise InputError(
            f"{where}: has no {column}: name a field {aliases}, or say which it is with "
            f"columns={{{column}: NAME}}, and write {remedy}; it has {fields}"
        )


def _contexts(where, contexts, ids, texts):
    """Give contexts as texts and as ids."""
    if contexts and all(isinstance(context, dict) for context in contexts):
        ids = ids or [
            next((str(context[name]) for name in ID_OF if name in context), None)
            for context in contexts
        ]
        if None in ids:
            ids = None
        contexts = [
            next((context[name] for name in TEXT_OF if name in context), None)
            for context in contexts
        ]
    if texts is not None and (contexts or ids):
        ids = [str(name) for name in ids or contexts]
        for name in ids:
            if name not in texts:
                raise InputError(
                    f"{where}: context {name[:60]!r} is no id of the collection: check --collection"
                )
        contexts = [texts[name] for name in ids]
    if contexts is not None and not all(isinstance(context, str) for context in contexts):
        remedy = "give texts, objects with a field text, or ids and a collection"
        raise InputError(f"{where}: a context is no text: {remedy}")
    if contexts is not None and ids is not None and len(contexts) != len(ids):
        raise InputError(
            f"{where}: {len(contexts)} contexts and {len(ids)} context ids: give one id a context"
        )
    return {"contexts": contexts, "context_ids": ids}


# --- rows that belong together


def _add_scores(row, copy):
    """Add the scores of a repeated row: another tool may have written them into another file."""
    for name, number in copy["scores"].items():
        earlier = row["scores"].get(name, math.nan)
        _refuse_contradiction(f"score {name}", number, earlier, copy, row)
        if math.isnan(earlier):
            row["scores"][name] = number
    _refuse_contradiction("mark by hand", copy["human"], row["human"], copy, row)
    if math.isnan(row["human"]):
        row["human"] = copy["human"]


def _refuse_contradiction(name, number, earlier, copy, row):
    """Refuse two numbers for one answer."""
    if number != earlier and not math.isnan(number) and not math.isnan(earlier):
        raise InputError(
            f"{copy['where']}: {name} of {row['id'][:60]!r} is {number:g}, and "
            f"{earlier:g} in {row['where']}: keep one of them, or name two systems"
        )


def _last_tries(rows):
    """Leave out the failures of what was asked again later."""
    last = {(row["id"], row["system"]): row for row in rows}
    return [
        row for row in rows if row["no_answer"] is None or last[row["id"], row["system"]] is row
    ]


def _distinct(rows):
    """Give the rows without copies, and the copies; a contradiction is an error."""
    distinct = {}
    copies = []
    questions = {}
    for row in rows:
        question = questions.setdefault(row["id"], row)
        for column in ("question", "references", "relevant"):
            if None not in (question[column], row[column]) and question[column] != row[column]:
                raise InputError(
                    f"{row['where']}: {column.rstrip('s')} of id {row['id']!r} differs from that "
                    f"in {question['where']}: one id names one question"
                )
        earlier = distinct.setdefault((row["id"], row["system"]), row)
        if earlier is row:
            continue
        if any(earlier[name] != row[name] for name in ("answer", "contexts", "context_ids")):
            raise InputError(
                f"{row['where']}: {row['system']} answered {row['id'][:60]!r} otherwise in "
                f"{earlier['where']}: keep one of them, or name two systems in the field 'system'"
            )
        _add_scores(earlier, row)
        copies.append(f"{row['where']}, as in {earlier['where']}")
    return list(distinct.values()), copies
