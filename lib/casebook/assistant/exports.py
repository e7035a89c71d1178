"""What evaluation tools write besides the columns of a log: records, traces, and scores.

Layouts of scores: columns (RAGAS), lists of metrics (DeepEval 3 and 4, OpenAI Evals, LangSmith's
upload), values of scorers (Inspect), ``feedback.*`` (LangSmith), ``eval.*.score`` and ``*_score``
(Phoenix), columns with ``*_calls`` (TruLens 1 and 2), ``score`` and ``namedScores`` (promptfoo).
"""

import ast
import json
import math
import re
from contextlib import suppress
from pathlib import Path

from casebook.errors import InputError
from casebook.readers import read_yaml, spelling

ASSISTANT_WORDS = read_yaml(Path(__file__).with_name("names.yml"))
_EXPORTS = ASSISTANT_WORDS["exports"]
_SCORE_WORDS = {
    str(word): float(value)
    for value, words in ASSISTANT_WORDS["score_words"].items()
    for word in words
}
_SCORE_NAME = re.compile(
    "faithful|relevan|precision|recall|correctness|similarity|grounded|hallucinat|score|metrics"
    "|^correct$|^success$|^passed$|^pass$|^verdict$"
)
_NO_SCORE = re.compile("cost|(calls|direction|details|reason|explanation|label|threshold)$")
_SCORES = _EXPORTS["scores"]


# --- the records of a file


def records_in(content):
    """Give the records of an export that is one object, with the system that it names."""
    results = content.get("results")
    if isinstance(results, dict) and isinstance(results.get("results"), list):
        results = _with_prompts(results["results"])
    rows = next((content[name] for name in _EXPORTS["lists"] if name in content), results)
    evaluation = content.get("eval")
    if isinstance(evaluation, dict):
        system = evaluation.get("model")
    else:
        system = content.get("experiment_name")
    if system and isinstance(rows, list):
        rows = [row | {"system": system} if isinstance(row, dict) else row for row in rows]
    return rows


def _with_prompts(results):
    """Give the results of promptfoo, numbered by prompt only where there are several."""
    results = [row for row in results if isinstance(row, dict)]
    several = len({str(row.get("promptIdx")) for row in results}) > 1
    return results if several else [row | {"promptIdx": None} for row in results]


TRACE = "context.trace_id"
DOCUMENTS = "attributes.retrieval.documents"


def without_inner_spans(path, records):
    """Give the first span of each trace of Phoenix, with the documents of its other spans.

    Records of anything else are given as they are. The first record given counts the other spans.
    """
    if not any(TRACE in record and "parent_id" in record for _, record in records):
        return records
    documents = {}
    for _, record in records:
        documents.setdefault(str(record.get(TRACE)), []).extend(_list_of(record.get(DOCUMENTS)))
    roots = []
    for number, record in records:
        if is_missing(record.get("parent_id")):
            contexts = documents[str(record.get(TRACE))]
            roots.append((number, {"contexts": contexts or None} | record))
    if not roots:
        raise InputError(f"{path}: has no first span of a trace, whose parent_id is empty")
    number, first = roots[0]
    roots[0] = (number, first | {"inner_spans": len(records) - len(roots)})
    return roots


def completed(record):
    """Give a record of TruLens with the name of its system, and the contexts of its feedback."""
    if "app_name" in record and "app_version" in record:
        record = {"system": f"{record['app_name']} {record['app_version']}"} | record
    contexts = []
    for name, calls in record.items():
        if str(name).endswith("_calls"):
            for call in _list_of(calls):
                arguments = call.get("args") if isinstance(call, dict) else None
                if isinstance(arguments, dict) and isinstance(arguments.get("context"), str):
                    contexts.append(arguments["context"])
    if contexts:
        record = {"contexts": list(dict.fromkeys(contexts))} | record
    return record


def _list_of(value):
    """Give a list, also as JSON or Python wrote it; an empty one if it is none."""
    for read in (json.loads, ast.literal_eval):
        if isinstance(value, str):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                value = read(value)
    return value if isinstance(value, list) else []


def is_missing(value):
    """Whether a cell is empty: None, no text, or NaN."""
    return value is None or value == "" or value != value


def all_fields(record, part=""):
    """Give every field of a record, nested ones too, by the spelling of its path."""
    fields = {}
    for name, value in record.items():
        path = part + spelling(name)
        if isinstance(value, dict):
            fields |= all_fields(value, f"{path}.")
        fields[path] = value
    return fields


def field_names(record, part=""):
    """Give the names of all fields, nested ones too, as they are written, by their spelling."""
    names = {}
    for name, value in record.items():
        written = f"{part}{name}"
        names[spelling(written)] = written
        if isinstance(value, dict):
            names |= field_names(value, f"{written}.")
    return names


# --- the scores of a record


def scores_of(record, columns_of_a_log):
    """Give the scores that a tool or a judge wrote into a record, by name, as they are written."""
    scores = {}
    for name, value in record.items():
        path = spelling(name)
        if path in _SCORES["lists"] and isinstance(value, list):
            scores |= _scores_in_list(value, _SCORES["lists"][path])
        elif path in _SCORES["maps"] and isinstance(value, dict):
            scores |= _scores_in_map(value)
        elif path not in columns_of_a_log:
            title = _score_title(str(name), record)
            if title:
                scores[title] = _value_of(value)
    return scores


def _scores_in_list(members, name_part):
    """Give the scores of a list of objects that have a name."""
    scores = {}
    for member in members:
        if isinstance(member, dict) and isinstance(member.get(name_part), str):
            scores[member[name_part]] = _value_of(member)
    return scores


def _scores_in_map(members):
    """Give the scores of a mapping of names to scores."""
    scores = {}
    for name, member in members.items():
        value = _value_of(member)
        if isinstance(value, dict):  # of a scorer with several values
            scores |= {f"{name}.{part}": _value_of(each) for part, each in value.items()}
        else:
            scores[str(name)] = value
    return scores


def _value_of(value):
    """Give the value of a score that is an object, also as JSON wrote it."""
    if _is_object(value) and isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if not isinstance(value, dict):
        return value
    return next((value[part] for part in _SCORES["values"] if value.get(part) is not None), None)


def _is_object(value):
    return isinstance(value, dict) or (isinstance(value, str) and value.lstrip().startswith("{"))


def _score_title(name, record):
    """Give the name of the score that a field holds; None if it holds none."""
    path = spelling(name)
    if path.startswith("feedback."):
        return name.partition(".")[2]
    if path.startswith("eval."):
        return name.partition(".")[2].removesuffix(".score") if path.endswith(".score") else None
    if f"{name}_calls" in record or f"{name} direction" in record:
        return name
    if "." in path or _NO_SCORE.search(path) or not _SCORE_NAME.search(path):
        return None
    return name.removesuffix("_score") if _is_object(record[name]) else name


def score_number(value):
    """Give a score as a number: of words such as ``pass`` 1 or 0; NaN if it is none."""
    if isinstance(value, str):
        text = value.strip()
        value = _SCORE_WORDS.get(text, _SCORE_WORDS.get(text.lower(), text))
    if not isinstance(value, str | int | float):
        return math.nan
    with suppress(ValueError, OverflowError):
        number = float(value)
        if math.isfinite(number):
            return number
    return math.nan
