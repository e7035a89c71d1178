"""Logs of an assistant's answers: our own form, and the exports of widely used evaluation tools.

Read are JSON lines, JSON, CSV and TSV, plain, .gz or .xz; workbooks; parquet, if pyarrow is there;
Inspect's ``.eval``. Versions whose columns were looked up: RAGAS 0.1 (``question``, ``answer``,
``contexts``, ``ground_truth``) and 0.2 to 0.4 (``user_input`` ...), Inspect AI 0.3 (log format 2),
LangSmith SDK 0.2 to 0.9 (``to_pandas`` of an experiment, runs, the body of ``upload-experiment``),
OpenAI Evals API of 2025 (output items), DeepEval 3 and 4 (test cases, saved test runs, results),
promptfoo 0.100 and later (results JSON), LangChain (``query``, ``result``, ``source_documents``),
chat ``messages``, Phoenix (client 3: spans, ``get_input_output_context``; evals 3), TruLens 1 and
2 (``get_records_and_feedback``).
"""

import ast
import io
import json
import math
import re
import tokenize
import zipfile
from collections import Counter
from contextlib import suppress
from itertools import pairwise
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

from casebook.assistant.exports import (
    ASSISTANT_WORDS,
    all_fields,
    completed,
    field_names,
    is_missing,
    records_in,
    score_number,
    scores_of,
    without_inner_spans,
)
from casebook.assistant.languages import language_notes
from casebook.data.cards import first_problem
from casebook.data.folders import read_collection
from casebook.data.records import TABLES, read_table
from casebook.data.registry import load
from casebook.errors import InputError
from casebook.paths import data_folder
from casebook.readers import (
    DAMAGED,
    did_you_mean,
    numbered_objects,
    parse_json,
    spelling,
    suffix_of,
    unreadable,
)
from casebook.text import UNSPACED, printable

LOG_ALIASES = ASSISTANT_WORDS["columns"]
"""Each column and the names under which tools export it, ours first."""
LOG_COLUMNS = (*LOG_ALIASES, "references", "no_answer", "scores")
_TEXTS = ("question", "answer", "reference")
_EXPORTS = ASSISTANT_WORDS["exports"]


def _paths(column):
    """Give the paths at which a column may stand in a record, by priority."""
    names = LOG_ALIASES[column]
    parts = _EXPORTS["record"]
    if column not in ("answer", "system"):  # those are never given to a test
        parts = parts + _EXPORTS["given"]
    paths = [f"{part}.{name}" for part in parts for name in names]
    if column in _TEXTS:
        text_names = [name for text in _TEXTS for name in LOG_ALIASES[text]]
        paths += [f"{part}.{name}" for part in _EXPORTS[column] for name in [*text_names, "text"]]
    else:
        text_parts = [part for text in _TEXTS for part in _EXPORTS[text]]
        paths += [f"{part}.{name}" for part in text_parts for name in names]
    before = _EXPORTS["first"].get(column, [])
    after = _EXPORTS["last"].get(column, [])
    return list(dict.fromkeys(map(spelling, [*before, *names, *paths, *after])))


PATHS = {column: _paths(column) for column in LOG_ALIASES}
_RANKS = {
    column: {path: rank for rank, path in enumerate(paths)} for column, paths in PATHS.items()
}
_READ = frozenset().union(*PATHS.values())
_NESTED = {path[: dot.start()] for path in _READ for dot in re.finditer(r"\.", path)}
_MOST_REASONS = 3  # that a note names
_EXACT = frozenset().union(*LOG_ALIASES.values())
# Of a context that is an object.
TEXT_OF = _EXPORTS["context"]["text"]
ID_OF = _EXPORTS["context"]["id"]


def read_log(paths, collection=None, columns=None, scores=()):
    """Read the answers of one or several systems to questions.

    Parameters
    ----------
    paths : path-like or list of path-like
        JSON lines, JSON, CSV, TSV, a workbook, parquet or Inspect's ``.eval``; see `LOG_ALIASES`
        for the names of columns that are understood, in any letter case. Without a column
        ``system``, the name of a file is that of its system.
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
        (path, number, record) for path in map(Path, paths) for number, record in _records(path)
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
            raise InputError(
                f"{parameter}: the log has no field {name!r}{did_you_mean(name, written.values(), n=2)}; "
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
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise InputError.at(
            path,
            number,
            "has a field of another form than the tool writes: compare it with the table of "
            "columns",
        ) from error


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
    inner_spans = sum(row["inner_spans"] for row in rows)
    if inner_spans:
        notes.append(
            f"of each trace the first span is an answer; of {inner_spans} other spans only "
            "documents are read"
        )
    several_turns = sum(row["several_turns"] for row in rows)
    if several_turns:
        notes.append(f"of {several_turns} conversations the last question and its answer are read")
    cut_off = sum(row["cut_off"] for row in rows)
    if cut_off:
        notes.append(f"{cut_off} answers were cut off at the model's limit")
    return notes + language_notes([(row["question"], row["answer"]) for row in rows])


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


# --- the records of a file, whatever tool wrote it


def _records(path):
    """Read the records of a file with their lines, rows or positions."""
    records = without_inner_spans(path, _raw_records(path))
    return [(number, completed(record)) for number, record in records]


def _raw_records(path):
    def answers_of(content):
        answers = records_in(content)
        if not isinstance(answers, list) or not answers:
            raise InputError(
                f"{path}: holds no answers: give a list of objects, or an export that is named in "
                "the manual"
            )
        return answers

    kind = suffix_of(path)
    if kind == ".eval":
        return numbered_objects(path, answers_of(_inspect_archive(path)))
    if kind not in TABLES:
        raise InputError(f"{path}: name a {', '.join(TABLES)} or .eval file")
    return list(read_table(path, rows_of=answers_of))


LARGEST_ARCHIVE = 2 << 30  # bytes that an Inspect log may unpack to


def _inspect_archive(path):
    """Read Inspect's ``.eval``, a zip of JSON: its header, and a file a sample."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > LARGEST_ARCHIVE:
                raise InputError(f"{path}: unpacks to more than {LARGEST_ARCHIVE:,} bytes")
            names = archive.namelist()
            header = "header.json"
            if header not in names:
                header = "_journal/start.json"  # of a run that was stopped
            evaluation = parse_json(archive.read(header))["eval"]
            samples = [
                parse_json(archive.read(name))
                for name in names
                if name.startswith("samples/") and name.endswith(".json")
            ]
            return {"eval": evaluation, "samples": samples}
    except OSError as error:
        raise unreadable(path, error) from error
    except (
        *DAMAGED,
        zipfile.BadZipFile,
        KeyError,
        RuntimeError,  # encrypted
        ValueError,
        TypeError,
    ) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(
            f"{path}: is no Inspect log: {why}: try 'inspect log convert --to json'"
        ) from error


def _flat(record, part=""):
    """Give the fields of a record by the spelling of their paths; of several choices the first."""
    fields = {}
    # An exact name comes last, so that it counts most.
    for name, value in sorted(record.items(), key=lambda field: field[0] in _EXACT):
        path = part + spelling(name)
        if path == "output.choices" and isinstance(value, list):
            value = value[0] if value else {"message": {"content": ""}}
        if isinstance(value, dict) and path in _NESTED:
            fields |= _flat(value, f"{path}.")
        else:
            fields[path] = value
    return fields


# --- one record


def _text(value):
    """Give the text of a question or answer: of messages that of the last one, of parts all."""
    if isinstance(value, list) and value and all(isinstance(message, dict) for message in value):
        contents = [
            message.get("content")
            for message in value
            if message.get("role", message.get("type")) not in ("system", "developer")
        ]
        value = contents[-1] if contents else None
        if isinstance(value, list):
            return " ".join(part.get("text", "") for part in value)
    return value


def _list(value):
    """Read a cell's list: as JSON, Python or numpy wrote it, ids with grades, or a single one."""
    if isinstance(value, str):
        array = _ARRAY.fullmatch(value.strip())
        if array:
            value = array[1]
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            return list(json.loads(value))
        return _printed_list(value.strip())
    if isinstance(value, dict):
        return [name for name, grade in value.items() if grade]
    return [value] if isinstance(value, str | int) else value


_ARRAY = re.compile(r"array\((\[.*\])(?:,\s*dtype=[^)]*)?\)", re.DOTALL)
_SPACE = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def _printed_list(text):
    """Read a list that Python printed, or numpy, which puts no commas.

    Python would join the texts of numpy's list into one.
    """
    with suppress(tokenize.TokenError, SyntaxError):
        tokens = [
            token
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type not in _SPACE
        ]
        is_text = [token.type == tokenize.STRING for token in tokens]
        if any(current and following for current, following in pairwise(is_text)):
            if not all(is_text[1:-1]):
                raise ValueError("holds texts without a comma between them: write a list as JSON")
            return [ast.literal_eval(token.string) for token in tokens[1:-1]]
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return list(ast.literal_eval(text))
    raise ValueError("begins like a list and is none: write a list as JSON")


def _objects(value):
    return [value] if isinstance(value, dict) else _list(value)


def _references(value):
    """Read reference answers: one, or several as Inspect and RAGAS 0.1 write them."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):
            value = _list(value)
    if isinstance(value, list) and not all(isinstance(each, dict) for each in value):
        return [each for each in value if not is_missing(each)] or None
    text = _text(value)
    return None if is_missing(text) else [text]


Ids = Annotated[list[str] | None, BeforeValidator(_list)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)] | None


class _Answer(BaseModel):
    """One row of a log."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str | None
    question: Annotated[str, StringConstraints(strict=True, pattern=r"\S"), BeforeValidator(_text)]
    answer: Annotated[StrictStr, BeforeValidator(_text)]
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
    """Give the value of each column of a record, None where it has none."""
    row = {}
    for column, ranks in _RANKS.items():
        paths = sorted((path for path in flat if path in ranks), key=ranks.get)
        values = (flat[path] for path in paths)
        row[column] = next((value for value in values if not is_missing(value)), None)
    output = flat.get("response.output")
    if not isinstance(output, str | None):  # promptfoo reads the JSON of an answer
        row["answer"] = json.dumps(output, ensure_ascii=False)
    row["no_answer"] = None
    failed = flat.get("noanswer") or flat.get("error") or flat.get("response.error")
    if failed and not row["answer"]:
        row["no_answer"] = printable(str(failed))
    is_empty = any(flat[path] in ("", []) for path in flat if path in _RANKS["answer"])
    if not row["answer"] and (failed or is_empty):
        row["answer"] = ""  # a run that failed has no answer
    if row["seconds"] is None and flat.get("latencyms") is not None:
        row["seconds"] = flat["latencyms"] / 1000
    if flat.get("promptidx") is not None:
        row["system"] = f"{row['system']}, prompt {flat['promptidx'] + 1}"
    return row


def _row(path, number, record, texts, columns):
    """Give one record under our names: checked, with contexts as texts and as ids."""
    fields = all_fields(record) if columns else {}
    scores = scores_of(record, _READ.union(columns.values()))
    if "metadata" in record and not isinstance(record.get("output"), dict):
        # Of all metadata only Inspect's hold contexts and the like.
        record = record | {"metadata": None}
    where = f"{path}:{number}"
    flat = _renamed(_flat(record), fields, columns)
    flat = _last_turn(flat) | flat
    row = _values(flat)
    _require(where, row, record, "question", "the question's text")
    _require(where, row, record, "answer", '"" where none was given')
    if flat.get("epoch", 1) > 1:  # Inspect asked again: another row of the same group
        row |= {"id": f"{row['id']} (epoch {flat['epoch']})", "group": row["id"]}
    human = row.pop("human")
    row = _Answer.model_validate(row).model_dump()
    references = row["reference"]
    name = row["question"] if row["id"] is None else row["id"]
    for number_column in ("seconds", "cost"):
        if row[number_column] is None:
            row[number_column] = math.nan
    row |= _contexts(where, row["contexts"], row["context_ids"], texts)
    return row | {
        "human": human,
        "human_fields": [path for path in _RANKS["human"] if not is_missing(flat.get(path))][:1],
        "scores": scores,
        "references": references,
        "reference": references[0] if references else None,
        "named": row["id"] is not None,
        "id": name,
        "group": name if row["group"] is None else row["group"],
        "system": row["system"] or path.name.split(".")[0],
        "where": where,
        "inner_spans": flat.get("innerspans") or 0,
        "several_turns": bool(flat.get("severalturns")),
        "cut_off": flat.get("cutoff") is True,
    }


def _renamed(flat, fields, columns):
    """Give the fields that columns name under the columns' names, and under no other one."""
    values = {column: (path, fields[path]) for column, path in columns.items() if path in fields}
    for path, _ in values.values():
        flat.pop(path, None)
    for column, (_, value) in values.items():
        for path in PATHS[column]:
            flat.pop(path, None)
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


def _last_turn(flat):
    """Give question and answer of a chat that has no fields of these names.

    That is the last answer, and what was asked before it.
    """
    messages = flat.get("messages")
    has_fields = any(name in flat for column in ("question", "answer") for name in PATHS[column])
    is_chat = isinstance(messages, list) and all(isinstance(each, dict) for each in messages)
    if has_fields or not is_chat:
        return {}
    answers = [
        i
        for i, message in enumerate(messages)
        if message.get("role") == "assistant" and message.get("content")
    ]
    if not answers:
        return {}
    last = answers[-1]
    questions = [message for message in messages[:last] if message.get("role") == "user"]
    return {
        "question": questions[-1:] or None,
        "answer": [messages[last]],
        "severalturns": len(questions) > 1,
    }


def _contexts(where, contexts, ids, texts):
    """Give contexts as texts and as ids."""
    if contexts and all(isinstance(context, dict) for context in contexts):
        objects = [
            context["kwargs"] if isinstance(context.get("kwargs"), dict) else context
            for context in contexts  # LangChain's dump has kwargs
        ]
        ids = ids or [
            next((str(context[name]) for name in ID_OF if name in context), None)
            for context in objects
        ]
        if None in ids:
            ids = None
        contexts = [
            next((context[name] for name in TEXT_OF if name in context), None)
            for context in objects
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
