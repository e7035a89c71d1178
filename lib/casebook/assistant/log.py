"""Logs of an assistant's answers: our own form, and the exports of widely used evaluation tools.

Read are JSON lines, JSON, CSV and TSV, plain, .gz or .xz; workbooks; parquet, if pyarrow is there; Inspect's ``.eval``.
Versions whose columns were looked up: RAGAS 0.1 (``question``, ``answer``, ``contexts``, ``ground_truth``) and 0.2 to
0.4 (``user_input`` ...), Inspect AI 0.3 (log format 2), LangSmith SDK 0.2 to 0.9 (``to_pandas`` of an experiment, runs,
the body of ``upload-experiment``), OpenAI Evals API of 2025 (output items), DeepEval 3 (test cases, saved test runs),
promptfoo 0.100 and later (results JSON), LangChain (``query``, ``result``, ``source_documents``), chat ``messages``.
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

from casebook.data.cards import first_problem
from casebook.data.folders import read_collection
from casebook.data.registry import load
from casebook.errors import InputError
from casebook.paths import DATA, data_folder
from casebook.readers import (
    DAMAGED,
    OPENERS,
    parse_json,
    read_json,
    read_records,
    read_yaml,
    suffix_of,
    unreadable,
)
from casebook.text import UNSPACED

ASSISTANT_WORDS = read_yaml(DATA / "assistant" / "names.yml")
LOG_ALIASES = ASSISTANT_WORDS["columns"]
"""Each column and the names under which tools export it, ours first."""
LOG_COLUMNS = (*LOG_ALIASES, "references", "no_answer")
_TEXTS = ("question", "answer", "reference")
_EXPORTS = ASSISTANT_WORDS["exports"]


def spelling(name):
    """Name of a field as it is compared: ``Ground Truth``, ``groundTruth`` and ``ground_truth`` are one."""
    return re.sub(r"[\s_-]", "", str(name)).lower()


def _paths(column):
    """Where a column may stand in a record, by priority."""
    names = LOG_ALIASES[column]
    parts = _EXPORTS["record"]
    if column not in ("answer", "system"):  # those are never given to a test
        parts = parts + _EXPORTS["given"]
    texts = [part for text in _TEXTS for part in _EXPORTS[text]]
    paths = [f"{part}.{name}" for part in parts for name in names]
    if column in _TEXTS:
        known = [name for text in _TEXTS for name in LOG_ALIASES[text]]
        paths += [f"{part}.{name}" for part in _EXPORTS[column] for name in (*known, "text")]
    else:
        paths += [f"{part}.{name}" for part in texts for name in names]
    first, last = (_EXPORTS[place].get(column, []) for place in ("first", "last"))
    return list(dict.fromkeys(map(spelling, [*first, *names, *paths, *last])))


PATHS = {column: _paths(column) for column in LOG_ALIASES}
_READ = frozenset().union(*PATHS.values())
_NESTED = {path[: dot.start()] for path in _READ for dot in re.finditer(r"\.", path)}
_SCORES = re.compile(
    "faithful|relevan|precision|recall|correctness|similarity|grounded|hallucinat|score|feedback|metrics"
)
_REASONS = 3  # that a note names
_EXACT = frozenset().union(*LOG_ALIASES.values())
TEXT_OF = ("text", "page_content", "content")  # of a context that is an object
ID_OF = ("id", "doc_id", "_id", "chunk_id")


def read_log(paths, collection=None):
    """Read the answers of one or several systems to questions.

    Parameters
    ----------
    paths : path-like or list of path-like
        JSON lines, JSON, CSV, TSV, a workbook, parquet or Inspect's ``.eval``; see `LOG_ALIASES` for the names of columns
        that are understood, in any letter case. Without a column ``system``, the name of a file is that of its system.
    collection : str or path-like, optional
        Data set or BEIR folder, where the contexts are ids of it instead of texts.

    Returns
    -------
    pandas.DataFrame
        A row per question and system: ``id``, ``question``, ``answer``, ``contexts`` (list of texts, None without
        retrieval), ``context_ids``, ``reference``, ``relevant`` (list of ids), ``system``, ``group`` (the question's id
        where none is named), ``abstained``, ``seconds``, ``cost``, ``references`` (all, where a question has several),
        ``no_answer`` (why a run failed that gave none; its ``answer`` is then empty and is not scored).
        ``attrs["copies"]`` lists rows left out because they repeat another one, ``attrs["notes"]`` says what was not
        read, ``attrs["named"]`` whether questions have ids, and ``attrs["unread"]`` names a context that is an id where
        no collection was named.

    Raises
    ------
    InputError
        With file, row and remedy, if a row cannot be read, has no question or answer, or contradicts another.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> line = {"user_input": "May I cancel?", "response": "Yes.", "retrieved_contexts": ["You may cancel."]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "ragas.jsonl")
    ...     _ = path.write_text(json.dumps(line))
    ...     log = read_log(path)
    >>> log.loc[0, ["question", "answer", "system"]].tolist(), log["contexts"][0]
    (['May I cancel?', 'Yes.', 'ragas'], ['You may cancel.'])
    """
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    texts, rows = None, []
    if collection:
        documents = documents_of(collection)
        texts = dict(zip(documents["doc_id"], documents["text"], strict=True))
    for path in map(Path, paths):
        for place, record in _records(path):
            try:
                rows.append(_row(path, place, record, texts))
            except ValidationError as error:
                raise InputError.at(path, place, first_problem(error)) from None
            except (AttributeError, IndexError, KeyError, TypeError) as error:
                problem = "has a field of another form than the tool writes: compare it with the table of columns"
                raise InputError.at(path, place, problem) from error
    given = [(row["where"], text) for row in rows for text in row["contexts"] or ()]
    ids = (
        given
        and not collection
        and not any(" " in text.strip() or UNSPACED.search(text) for _, text in given)
    )
    for row in rows if ids else ():  # no text has a blank, though its script would put some
        row |= {"contexts": None, "context_ids": row["context_ids"] or row["contexts"]}
    kept, copies = _distinct(_last_tries(rows))
    log = pd.DataFrame([{name: row[name] for name in LOG_COLUMNS} for row in kept])
    log.attrs |= {
        "copies": copies,
        "named": all(row["named"] for row in kept),
        "unread": given[0] if ids else None,
    }
    log.attrs["notes"] = _notes(kept, copies)
    return log


def _notes(rows, copies):
    """What is to be said of a log: what was left out, and what is not read as somebody might think."""
    scores = sorted({name for row in rows for name in row["scores"]})
    turns, cut_off = (sum(row[name] for row in rows) for name in ("several_turns", "cut_off"))
    notes = not_answered(row["no_answer"] for row in rows)
    notes += [f"{len(copies)} repeated rows are left out"] if copies else []
    notes += [f"the log's own scores are not read: {', '.join(scores)}"] if scores else []
    notes += (
        [f"of {turns} conversations the last question and its answer are read"] if turns else []
    )
    notes += [f"{cut_off} answers were cut off at the model's limit"] if cut_off else []
    if any(UNSPACED.search(row["answer"]) for row in rows):
        notes.append(
            "COUNTERCASE's definition reads Latin letters only: it counts other sentences as grounded"
        )
    return notes


def not_answered(reasons):
    """Say how many rows have a reason instead of an answer, and the commonest of them, in one line or none."""
    counts = Counter(reason for reason in reasons if isinstance(reason, str))
    if not counts:
        return []
    named = "; ".join(f"{count} × {reason[:100]}" for reason, count in counts.most_common(_REASONS))
    more = f"; and {len(counts) - _REASONS} other reasons" if len(counts) > _REASONS else ""
    return [f"not answered: {counts.total()} ({named}{more})"]


def checked_log(paths, collection=None):
    """Read a log in which there is something to measure, see `read_log`."""
    log = read_log(paths, collection)
    if log.attrs["unread"]:
        where, text = log.attrs["unread"]
        raise InputError(
            f"{where}: contexts such as {text[:40]!r} are no texts: write the texts, or name the data set or "
            "folder that they are ids of as collection"
        )
    if not (
        log["contexts"].map(bool).any()
        or log["reference"].notna().any()
        or len(log["system"].unique()) > 1
    ):
        raise InputError(
            f"{paths}: has neither contexts nor references nor a second system, so nothing can be measured: add "
            "a field 'contexts' or 'reference', or name a second log"
        )
    return log


def check_log_parameters(values):
    """Read the log that a notebook's parameters name, and look for the systems that they name; gives its notes."""
    read = checked_log if "collection" in values else read_log
    log = read(values["log"], values.get("collection"))
    systems = log["system"].unique().tolist()
    for name in ("focus", "against") if "collection" in values else ():
        if values.get(name) and values[name] not in systems:
            raise InputError(
                f"{name}: the log has no system {values[name]!r}; it has {', '.join(systems)}"
            )
    return "; ".join(log.attrs["notes"])


def documents_of(name):
    """Documents of a folder, whatever its name, or of a data set."""
    if Path(name).is_dir():
        return read_collection(Path(name))
    own = data_folder(name)
    return read_collection(own[1]) if own else load(str(name)).documents


# --- the records of a file, whatever tool wrote it


def _records(path):
    """Records of a file with their lines, rows or places."""
    kind = suffix_of(path)
    if kind == ".xlsx":
        return _workbook_records(path)
    if kind == ".parquet":
        return _parquet_records(path)
    if kind not in (".csv", ".tsv", ".json", ".jsonl", ".eval"):
        raise InputError(f"{path}: name a .jsonl, .json, .csv, .tsv, .xlsx, .parquet or .eval file")
    if kind not in (".json", ".eval") or path.suffix in OPENERS:
        return read_records(path)[0]
    content = _inspect_archive(path) if kind == ".eval" else read_json(path)
    if isinstance(content, dict):
        content = _listed(content)
    if not isinstance(content, list) or not content:
        raise InputError(
            f"{path}: holds no answers: give a list of objects, or an export that is named in the manual"
        )
    for place, record in enumerate(content, 1):
        if not isinstance(record, dict):
            raise InputError.at(path, place, "is not an object")
    return list(enumerate(content, 1))


def _workbook_records(path):
    """Rows of the first sheet; cells are text, as in CSV."""
    from casebook.sheets import cell_text, read_book, sheet_records

    rows = sheet_records(path, read_book(path).sheets[0])
    texts = [
        (number, {name: cell_text(cell) for name, cell in row.items()}) for number, row in rows
    ]
    return [(number, row) for number, row in texts if any(row.values())]


def _parquet_records(path):
    try:
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            f"{path}: parquet needs the package pyarrow: install it, or write JSON lines"
        ) from None
    try:
        rows = pyarrow.parquet.read_table(path).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(
            f"{path}: is no parquet file, or is damaged: {' '.join(str(error).split())[:200]}"
        ) from error
    return list(enumerate(rows, 1))


LARGEST_ARCHIVE = 2 << 30  # bytes that an Inspect log may unpack to


def _inspect_archive(path):
    """Content of Inspect's ``.eval``, a zip of JSON: its header, and a file a sample."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > LARGEST_ARCHIVE:
                raise InputError(f"{path}: unpacks to more than {LARGEST_ARCHIVE:,} bytes")
            names = archive.namelist()
            header = (
                "header.json" if "header.json" in names else "_journal/start.json"
            )  # of a run that was stopped
            samples = [
                name for name in names if name.startswith("samples/") and name.endswith(".json")
            ]
            content = parse_json(archive.read(header))
            return {
                "eval": content["eval"],
                "samples": [parse_json(archive.read(name)) for name in samples],
            }
    except OSError as error:
        raise unreadable(path, error) from error
    except (
        *DAMAGED,
        zipfile.BadZipFile,
        KeyError,
        RuntimeError,
        ValueError,
        TypeError,
    ) as error:  # encrypted too
        why = " ".join(str(error).split())[:200]
        raise InputError(
            f"{path}: is no Inspect log: {why}: try 'inspect log convert --to json'"
        ) from error


def _listed(content):
    """Records of an export that is one object, with the system that it names."""
    results = content.get("results")
    if isinstance(results, dict) and isinstance(results.get("results"), list):
        results = _with_prompts(results["results"])
    rows = next((content[name] for name in _EXPORTS["lists"] if name in content), results)
    evaluation = content.get("eval")
    system = (
        evaluation.get("model") if isinstance(evaluation, dict) else content.get("experiment_name")
    )
    if system and isinstance(rows, list):
        rows = [row | {"system": system} if isinstance(row, dict) else row for row in rows]
    return rows


def _with_prompts(results):
    """Results of promptfoo, numbered by prompt only where there are several."""
    results = [row for row in results if isinstance(row, dict)]
    several = len({str(row.get("promptIdx")) for row in results}) > 1
    return results if several else [row | {"promptIdx": None} for row in results]


def _flat(record, part=""):
    """Fields of a record by the spelling of their paths; of several choices the first."""
    fields = {}
    for name, value in sorted(
        record.items(), key=lambda field: field[0] in _EXACT
    ):  # an exact name counts most
        place = part + spelling(name)
        if place == "output.choices" and isinstance(value, list):
            value = value[0] if value else {"message": {"content": ""}}
        if isinstance(value, dict) and place in _NESTED:
            fields |= _flat(value, f"{place}.")
        else:
            fields[place] = value
    return fields


# --- one record


def _missing(value):
    return value is None or value == "" or value != value


def _said(value):
    """Text of a question or answer: of messages the last one's, of a message its parts'."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        said = [
            one.get("content")
            for one in value
            if one.get("role", one.get("type")) not in ("system", "developer")
        ]
        value = said[-1] if said else None
        return (
            " ".join(part.get("text", "") for part in value) if isinstance(value, list) else value
        )
    return value


def _list(value):
    """List of a cell: as JSON, as Python or as numpy wrote it, ids with their grades, or a single one."""
    if isinstance(value, str) and (array := _ARRAY.fullmatch(value.strip())):
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
    """List that Python printed, or numpy, which puts no commas: Python would join its texts into one."""
    with suppress(tokenize.TokenError, SyntaxError):
        tokens = [
            token
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type not in _SPACE
        ]
        kinds = [token.type == tokenize.STRING for token in tokens]
        if any(first and second for first, second in pairwise(kinds)):
            if not all(kinds[1:-1]):
                raise ValueError("holds texts without a comma between them: write a list as JSON")
            return [ast.literal_eval(token.string) for token in tokens[1:-1]]
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return list(ast.literal_eval(text))
    raise ValueError("begins like a list and is none: write a list as JSON")


def _objects(value):
    return [value] if isinstance(value, dict) else _list(value)


def _references(value):
    """Reference answers: one, or several as Inspect's targets and the ground_truths of RAGAS 0.1."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):
            value = _list(value)
    if isinstance(value, list) and not all(isinstance(each, dict) for each in value):
        return [each for each in value if not _missing(each)] or None
    text = _said(value)
    return None if _missing(text) else [text]


Ids = Annotated[list[str] | None, BeforeValidator(_list)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)] | None


class _Answer(BaseModel):
    """One row of a log."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str | None
    question: Annotated[str, StringConstraints(strict=True, pattern=r"\S"), BeforeValidator(_said)]
    answer: Annotated[StrictStr, BeforeValidator(_said)]
    contexts: Annotated[list[StrictStr | int | dict] | None, BeforeValidator(_objects)]
    context_ids: Ids
    reference: Annotated[list[StrictStr] | None, BeforeValidator(_references)]
    relevant: Ids
    system: str | None
    group: str | None
    abstained: bool | None
    seconds: Amount
    cost: Amount
    no_answer: str | None


def _values(flat):
    """Value of each column of a record, None where it has none."""
    row = {}
    for column, paths in PATHS.items():
        values = (flat.get(path) for path in paths)
        row[column] = next((value for value in values if not _missing(value)), None)
    output = flat.get("response.output")
    if not isinstance(output, str | None):
        row["answer"] = json.dumps(
            output, ensure_ascii=False
        )  # promptfoo reads the JSON of an answer
    failed = flat.get("noanswer") or flat.get("error") or flat.get("response.error")
    reason = "".join(
        sign if sign.isprintable() else " " for sign in str(failed)
    )  # a server's words reach terminals
    row["no_answer"] = None if row["answer"] or not failed else " ".join(reason.split())
    if not row["answer"] and (
        failed or any(flat.get(path) in ("", []) for path in PATHS["answer"])
    ):
        row["answer"] = ""  # a run that failed has no answer
    if row["seconds"] is None and flat.get("latencyms") is not None:
        row["seconds"] = flat["latencyms"] / 1000
    if flat.get("promptidx") is not None:
        row["system"] = f"{row['system']}, prompt {flat['promptidx'] + 1}"
    return row


def _row(path, place, record, texts):
    """Give one record under our names: checked, with contexts as texts and as ids."""
    if not isinstance(
        record.get("output"), dict
    ):  # of all metadata only Inspect's hold contexts and the like
        record = record | {"metadata": None}
    where = f"{path}:{place}"
    flat = _flat(record)
    flat = _last_turn(flat) | flat
    row = _values(flat)
    for column, remedy in (
        ("question", "the question's text"),
        ("answer", '"" where none was given'),
    ):
        if row[column] is None:
            known, there = (
                ", ".join(LOG_ALIASES[column][:5]),
                ", ".join(sorted(map(str, record))[:8]) or "none",
            )
            raise InputError(
                f"{where}: has no {column}: name a field {known}, and write {remedy}; it has {there}"
            )
    if flat.get("epoch", 1) > 1:  # Inspect asked again: another row of the same group
        row |= {"id": f"{row['id']} (epoch {flat['epoch']})", "group": row["id"]}
    row = _Answer.model_validate(row).model_dump()
    row["references"] = row["reference"]
    row["reference"] = row["references"][0] if row["references"] else None
    row["named"] = row["id"] is not None
    row["id"] = row["id"] if row["named"] else row["question"]
    row["group"] = row["id"] if row["group"] is None else row["group"]
    row["system"] = row["system"] or path.name.split(".")[0]
    row |= {name: math.nan for name in ("seconds", "cost") if row[name] is None}
    row |= _contexts(where, row["contexts"], row["context_ids"], texts)
    return row | {
        "where": where,
        "scores": [str(name) for name in record if _is_score(spelling(name))],
        "several_turns": bool(flat.get("severalturns")),
        "cut_off": flat.get("cutoff") is True,
    }


def _is_score(name):
    return name not in _READ and _SCORES.search(name)


def _last_turn(flat):
    """Question and answer of a chat that has no fields of these names: the last answer, and what was asked before."""
    said = flat.get("messages")
    named = any(name in flat for column in ("question", "answer") for name in PATHS[column])
    if named or not (isinstance(said, list) and all(isinstance(each, dict) for each in said)):
        return {}
    answered = [
        place
        for place, each in enumerate(said)
        if each.get("role") == "assistant" and each.get("content")
    ]
    if not answered:
        return {}
    asked = [each for each in said[: answered[-1]] if each.get("role") == "user"]
    return {
        "question": asked[-1:] or None,
        "answer": [said[answered[-1]]],
        "severalturns": len(asked) > 1,
    }


def _contexts(where, given, ids, texts):
    """Contexts as texts and as ids."""
    if given and all(isinstance(one, dict) for one in given):
        given = [
            one["kwargs"] if isinstance(one.get("kwargs"), dict) else one for one in given
        ]  # LangChain's dump
        ids = ids or [
            next((str(one[name]) for name in ID_OF if name in one), None) for one in given
        ]
        given = [next((one[name] for name in TEXT_OF if name in one), None) for one in given]
        ids = None if None in ids else ids
    if texts is not None and (given or ids):
        ids = [str(one) for one in ids or given]
        if unknown := [one for one in ids if one not in texts]:
            raise InputError(
                f"{where}: context {unknown[0][:60]!r} is no id of the collection: check --collection"
            )
        given = [texts[one] for one in ids]
    if given is not None and not all(isinstance(one, str) for one in given):
        remedy = "give texts, objects with a field text, or ids and a collection"
        raise InputError(f"{where}: a context is no text: {remedy}")
    if given is not None and ids is not None and len(given) != len(ids):
        raise InputError(
            f"{where}: {len(given)} contexts and {len(ids)} context ids: give one id a context"
        )
    return {"contexts": given, "context_ids": ids}


# --- rows that belong together


def _last_tries(rows):
    """Rows without the failures of what was asked again later."""
    last = {(row["id"], row["system"]): row for row in rows}
    return [
        row for row in rows if row["no_answer"] is None or last[row["id"], row["system"]] is row
    ]


def _distinct(rows):
    """Rows without copies; a contradiction is an error."""
    kept, copies, questions = {}, [], {}
    for row in rows:
        first = questions.setdefault(row["id"], row)
        for column in ("question", "references", "relevant"):
            if None not in (first[column], row[column]) and first[column] != row[column]:
                raise InputError(
                    f"{row['where']}: {column.rstrip('s')} of id {row['id']!r} differs from that in {first['where']}: "
                    "one id names one question"
                )
        earlier = kept.setdefault((row["id"], row["system"]), row)
        if earlier is row:
            continue
        if any(earlier[name] != row[name] for name in ("answer", "contexts", "context_ids")):
            raise InputError(
                f"{row['where']}: {row['system']} answered {row['id'][:60]!r} otherwise in {earlier['where']}: "
                "keep one of them, or name two systems in the field 'system'"
            )
        copies.append(f"{row['where']}, as in {earlier['where']}")
    return list(kept.values()), copies
