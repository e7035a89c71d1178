"""Logs of an assistant's answers: our own form, and the exports of widely used evaluation tools.

Read are JSON lines, JSON and CSV, plain, .gz or .xz. Versions whose columns were looked up: RAGAS 0.1 (``question``,
``answer``, ``contexts``, ``ground_truth``) and 0.2 to 0.4 (``user_input`` ...), Inspect AI 0.3 (log format 2, written
with ``--log-format json``), LangSmith SDK 0.2 to 0.9 (``to_pandas`` of an experiment, runs, the body of
``upload-experiment``), OpenAI Evals API of 2025 (output items), DeepEval 3 (test cases).
"""

import ast
import json
import math
from pathlib import Path

import pandas as pd

from casebook.data.folders import read_collection
from casebook.data.registry import load
from casebook.errors import InputError
from casebook.paths import data_folder
from casebook.readers import OPENERS, read_json, read_records

ALIASES = {
    "id": ("id", "question_id", "query_id", "qid", "example_id", "row_id", "datasource_item_id"),
    "question": ("question", "user_input", "query", "input", "prompt"),
    "answer": ("answer", "response", "actual_output", "output", "output_text", "completion", "prediction"),
    "contexts": ("contexts", "retrieved_contexts", "retrieval_context", "context", "documents"),
    "context_ids": ("context_ids", "retrieved_context_ids"),
    "reference": ("reference", "ground_truth", "ground_truths", "expected_output", "ideal", "target", "gold_answer"),
    "relevant": ("relevant", "reference_context_ids", "relevant_ids"),
    "system": ("system", "model", "experiment_name", "run_name"),
    "group": ("group", "cluster"),
    "abstained": ("abstained",),
    "seconds": ("seconds", "execution_time", "latency_s", "latency"),
    "cost": ("cost",),
}
"""Each column and the names under which tools export it, ours first."""
COLUMNS = tuple(ALIASES)
LISTS = ("contexts", "context_ids", "relevant")
TEXT_OF = ("text", "page_content", "content")  # of a context that is an object
ID_OF = ("id", "doc_id", "_id", "chunk_id")


def read_log(paths, collection=None):
    """Read the answers of one or several systems to questions.

    Parameters
    ----------
    paths : path-like or list of path-like
        JSON lines, JSON or CSV; see `ALIASES` for the names of columns that are understood. Without a column
        ``system``, the name of a file is that of its system.
    collection : str or path-like, optional
        Data set or BEIR folder, where the contexts are ids of it instead of texts.

    Returns
    -------
    pandas.DataFrame
        A row per question and system: ``id``, ``question``, ``answer``, ``contexts`` (list of texts, None without
        retrieval), ``context_ids``, ``reference``, ``relevant`` (list of ids), ``system``, ``group`` (the question's id
        where none is named), ``abstained``, ``seconds``, ``cost``. ``attrs["copies"]`` lists rows left out because they
        repeat another one, ``attrs["named"]`` says whether questions have ids, and ``attrs["unread"]`` names a context
        that is an id where no collection was named.

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
                rows.append(_row(path, place, _flat(record), texts))
            except (AttributeError, IndexError, KeyError, TypeError) as error:
                problem = "has a field of another form than the tool writes: compare it with the table of columns"
                raise InputError.at(path, place, problem) from error
    given = [(row["where"], text) for row in rows for text in row["contexts"] or ()]
    ids = given and not collection and not any(text.strip().count(" ") for _, text in given)
    for row in rows if ids else ():  # no text has a blank
        row |= {"contexts": None, "context_ids": row["context_ids"] or row["contexts"]}
    kept, copies = _distinct(rows)
    log = pd.DataFrame([{name: row[name] for name in COLUMNS} for row in kept])
    log.attrs |= {"copies": copies, "named": all(row["named"] for row in kept), "unread": given[0] if ids else None}
    return log


def checked_log(paths, collection=None):
    """Read a log in which there is something to measure, see `read_log`."""
    log = read_log(paths, collection)
    if log.attrs["unread"]:
        where, text = log.attrs["unread"]
        raise InputError(
            f"{where}: contexts such as {text[:40]!r} are no texts: write the texts, or name the data set or "
            "folder that they are ids of as collection"
        )
    if not (log["contexts"].map(bool).any() or log["reference"].notna().any() or len(log["system"].unique()) > 1):
        raise InputError(
            f"{paths}: has neither contexts nor references nor a second system, so nothing can be measured: add "
            "a field 'contexts' or 'reference', or name a second log"
        )
    return log


def check_parameters(values):
    """Read the log that a notebook's parameters name, and look for the systems that they name."""
    read = checked_log if "collection" in values else read_log
    systems = read(values["log"], values.get("collection"))["system"].unique().tolist()
    for name in ("focus", "against") if "collection" in values else ():
        if values.get(name) and values[name] not in systems:
            raise InputError(f"{name}: the log has no system {values[name]!r}; it has {', '.join(systems)}")


def documents_of(name):
    """Documents of a folder, whatever its name, or of a data set."""
    if Path(name).is_dir():
        return read_collection(Path(name))
    own = data_folder(name)
    return read_collection(own[1]) if own else load(str(name)).documents


# --- the records of a file, whatever tool wrote it


def _records(path):
    kind = (path.with_suffix("") if path.suffix in OPENERS else path).suffix.lower()
    if kind != ".json" or path.suffix in OPENERS:
        return read_records(path)[0]
    content = read_json(path)
    if isinstance(content, dict):
        content = _listed(path, content)
    if not isinstance(content, list) or not content:
        raise InputError(f"{path}: holds no answers: give a list of objects, or an export that is named in the manual")
    for place, record in enumerate(content, 1):
        if not isinstance(record, dict):
            raise InputError.at(path, place, "is not an object")
    return list(enumerate(content, 1))


def _listed(path, content):
    """The samples of an Inspect log, the output items of an OpenAI eval, the results of a LangSmith experiment."""
    rows, system = content.get("data", content.get("samples")), None  # a page of OpenAI's list, or RAGAS's data set
    if "samples" in content and isinstance(content.get("eval"), dict):
        system = content["eval"].get("model", path.stem)
    elif "experiment_name" in content:
        rows, system = content.get("results"), content["experiment_name"]
    if system and isinstance(rows, list):
        rows = [row | {"system": system} if isinstance(row, dict) else row for row in rows]
    return rows


def _flat(record):
    """A record with plain names: what tools nest or join by dots is brought up."""
    found = {}
    if isinstance(sample := record.get("sample"), dict):  # an OpenAI output item
        record = (record.get("datasource_item") or {}) | {
            "id": record.get("datasource_item_id"),
            "output": sample.get("output") or "",
            "system": sample.get("model"),
        }
    if isinstance(output := record.get("output"), dict) and "choices" in output:  # an Inspect sample
        message = output["choices"][0].get("message", {}) if output["choices"] else {}
        answer = output.get("completion") or message.get("content") or ""
        epoch = record.get("epoch", 1)
        record = (record.get("metadata") or {}) | record | {"output": answer, "metadata": None}
        if epoch > 1:  # asked again: another row of the same group
            record |= {"id": f"{record['id']} (epoch {epoch})", "group": str(record["id"])}
    for name, value in record.items():
        part, dot, key = name.partition(".")
        if isinstance(value, dict) and name in _NESTED:
            found |= {_ours(_NESTED[name], key): inner for key, inner in value.items()}
        elif dot and part in _NESTED:
            found[_ours(_NESTED[part], key)] = value
        else:
            found.setdefault(name, value)
    if found.get("error") and all(_missing(found.get(name)) for name in ALIASES["answer"]):
        found["answer"] = ""  # a run that failed has no answer
    return found


_NESTED = {
    "inputs": "question",
    "input": "question",
    "outputs": "answer",
    "actual_outputs": "answer",
    "reference": "reference",
    "reference_outputs": "reference",
    "expected_outputs": "reference",
}


def _ours(part, key):
    """Column of a nested field: an ``answer`` among the references is a reference; contexts stay contexts."""
    if key in ALIASES["contexts"] or key in ALIASES["context_ids"]:
        return key
    names = {*ALIASES["question"], *ALIASES["answer"], *ALIASES["reference"], "text"}
    return part if key in names else key


# --- one record


def _row(path, place, record, texts):
    where = f"{path}:{place}"
    row = {
        column: next((record[name] for name in names if not _missing(record.get(name))), None)
        for column, names in ALIASES.items()
    }
    for column in ("question", "answer"):
        given = [name for name in ALIASES[column] if name in record]
        if row[column] is None and not given:
            known = ", ".join(ALIASES[column][:5])
            raise InputError(f"{where}: has no {column}: name a field {known}; its fields are {_names(record)}")
        if row[column] is None and not (column == "answer" and record[given[0]] == ""):
            remedy = 'write "" where no answer was given' if column == "answer" else "give the question's text"
            raise InputError(f"{where}: field {given[0]!r} is empty (null or NaN): {remedy}")
        row[column] = _text(where, column, "" if row[column] is None else row[column])
    for column in LISTS:
        row[column] = _list(where, column, row[column])
    for column in ("id", "system", "group"):
        if isinstance(row[column], list | dict):
            raise InputError(f"{where}: {column} is no name, but {type(row[column]).__name__}: write text or a number")
    row |= _contexts(where, row, texts)
    if isinstance(row["reference"], list):  # Inspect's targets, ground_truths of RAGAS 0.1
        row["reference"] = next(iter(row["reference"]), None)
    row["reference"] = None if row["reference"] is None else _text(where, "reference", row["reference"])
    row["system"] = str(row["system"] or path.name.split(".")[0])
    row["named"] = row["id"] is not None
    row["id"] = row["question"] if row["id"] is None else str(row["id"])
    row["group"] = row["id"] if row["group"] is None else str(row["group"])
    row["abstained"] = _truth(where, row["abstained"])
    for column in ("seconds", "cost"):
        row[column] = _number(where, column, row[column])
    return row | {"where": where}


def _names(record):
    return ", ".join(sorted(record)[:8]) or "none"


def _missing(value):
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _text(where, column, value):
    """Text of a question or answer; of a list of messages the last one's."""
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        said = [one.get("content") for one in value if one.get("role", one.get("type")) not in ("system", "developer")]
        value = said[-1] if said else None
    if isinstance(value, list):  # parts of one message
        if not all(isinstance(part, dict) for part in value):
            raise InputError(f"{where}: the {column} is a list, no text: give one text a row")
        value = " ".join(part.get("text", "") for part in value)
    if not isinstance(value, str) or (column == "question" and not value.strip()):
        raise InputError(f"{where}: the {column} is no text, but {type(value).__name__}: give one text a row")
    return value


def _list(where, column, value):
    if value is None or isinstance(value, list):
        return value
    if isinstance(value, dict) and column == "relevant":  # id to grade
        return [name for name, grade in value.items() if grade]
    if isinstance(value, str) and value.lstrip().startswith("["):  # a cell of a CSV, as JSON or as Python wrote it
        for parse in (json.loads, ast.literal_eval):
            try:
                return list(parse(value))
            except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
                continue
        raise InputError(f"{where}: {column} begins like a list and is none: write a list as JSON")
    if isinstance(value, str | int):
        return [value]
    raise InputError(f"{where}: {column} is no list, but {type(value).__name__}: write a list as JSON")


def _contexts(where, row, texts):
    """Contexts as texts and as ids."""
    given, ids = row["contexts"], row["context_ids"]
    if given and all(isinstance(one, dict) for one in given):
        ids = ids or [next((one[name] for name in ID_OF if name in one), None) for one in given]
        given = [next((one[name] for name in TEXT_OF if name in one), None) for one in given]
        ids = None if None in ids else ids
    if texts is not None and (given or ids):
        ids = [str(one) for one in ids or given]
        unknown = [one for one in ids if one not in texts]
        if unknown:
            raise InputError(f"{where}: context {unknown[0][:60]!r} is no id of the collection: check --collection")
        given = [texts[one] for one in ids]
    if given is not None and not all(isinstance(one, str) for one in given):
        raise InputError(
            f"{where}: a context is no text: give texts, objects with a field text, or ids and a collection"
        )
    if given is not None and ids is not None and len(given) != len(ids):
        raise InputError(f"{where}: {len(given)} contexts and {len(ids)} context ids: give one id a context")
    for column, names in (("context_ids", ids), ("relevant", row["relevant"])):
        if any(isinstance(one, list | dict) for one in names or ()):
            raise InputError(f"{where}: {column} holds something that is no id: write a list of ids")
    relevant = None if row["relevant"] is None else [str(one) for one in row["relevant"]]
    return {"contexts": given, "context_ids": ids and [str(one) for one in ids], "relevant": relevant}


def _truth(where, value):
    known = {"true": True, "false": False, "1": True, "0": False}
    if value is None:
        return None
    if (found := known.get(str(value).lower())) is None:
        raise InputError(f"{where}: abstained is {value!r}: write true or false")
    return found


def _number(where, column, value):
    try:
        number = math.nan if value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{where}: {column} is {value!r}, no number") from None
    if math.isinf(number) or number < 0:
        raise InputError(f"{where}: {column} is {value!r}: give a number from 0 on")
    return number


# --- rows that belong together


def _distinct(rows):
    """Rows without copies; a contradiction is an error."""
    kept, copies, questions = {}, [], {}
    for row in rows:
        first = questions.setdefault(row["id"], row)
        for column in ("question", "reference", "relevant"):
            if None not in (first[column], row[column]) and first[column] != row[column]:
                raise InputError(
                    f"{row['where']}: {column} of id {row['id']!r} differs from that in {first['where']}: "
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
