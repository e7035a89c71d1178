"""The Mini-Insurance folder layout: ``policies/*.txt`` and ``queries/queries.json``.

A policy's id is its file name without ``.txt``. A query is an object with ``id``,
``text`` and ``relevantDocId``. Two fields of our own carry what one id cannot:
``relevant`` (``{policy: grade}``) and ``group``; readers that do not know them lose
nothing else. Ids are equal whatever their case.
"""

import json
import os
from pathlib import Path

import pandas as pd

from casebook import paths
from casebook.datasets.corpus import RetrievalDataset
from casebook.errors import InputError
from casebook.files import new_folder, write_json
from casebook.readers import parse_json

ROOT_VARIABLES = ("EMBEDDINGSHIFT_DATASET_ROOT", "EMBEDDINGSHIFT_MINIINSURANCE_DATASET_ROOT")
_DEFAULT = Path("samples") / "insurance"
_TEXTS = ("id", "text", "relevantDocId")
_FIELDS = (*_TEXTS, "relevant")


def dataset_root():
    """Find the folder that is read when none is named."""
    given = (os.environ.get(name, "").strip() for name in ROOT_VARIABLES)
    return paths.ROOT / next((Path(value) for value in given if value), _DEFAULT)


def read_mini_insurance(folder=None, *, key=None):
    """Read a folder in the Mini-Insurance layout."""
    folder = Path(folder) if folder is not None else dataset_root()
    texts = _read_policies(folder / "policies")
    path = folder / "queries" / "queries.json"
    rows = _read_rows(path)
    canonical = {name.casefold(): name for name in texts}
    qrels = {row["id"]: _judgements(path, number, row, canonical) for number, row in enumerate(rows, 1)}
    documents = pd.DataFrame({"doc_id": list(texts), "title": "", "text": list(texts.values())})
    queries = _query_frame(rows)
    groups = _groups(path, rows)
    key = key or folder.resolve().name
    return RetrievalDataset(key, "test", documents, queries, qrels, groups=groups)


def write_mini_insurance(dataset, folder):
    """Write a dataset in the Mini-Insurance layout."""
    with new_folder(folder) as temporary:
        _write_policies(dataset.documents, temporary / "policies")
        _write_queries(dataset, temporary / "queries" / "queries.json")
    return Path(folder)


def _write_policies(documents, folder):
    """Write one file per policy into a new folder."""
    folder.mkdir()
    seen = {}
    for name, text in zip(documents["doc_id"], documents["text"], strict=True):
        paths.valid_name(name, "policy")
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise InputError(f"policies {other!r} and {name!r} differ in case alone")
        (folder / f"{name}.txt").write_bytes(text.encode())


def _write_queries(dataset, path):
    """Write the queries; ``relevantDocId`` is the first policy with the best grade."""
    clash = {*_FIELDS} & {*dataset.queries.columns} - {"text"}
    if clash:
        raise InputError(f"{dataset.key}: the queries have a column {min(clash)!r}")
    place = {name: at for at, name in enumerate(dataset.documents["doc_id"])}
    rows = []
    for fields in dataset.queries.to_dict("records"):
        name = fields.pop("query_id")
        judged = dataset.qrels.get(name, {})
        best = min(judged, key=lambda doc: (-judged[doc], place[doc]), default=None)
        if best is None or judged[best] < 1:
            raise InputError(f"{dataset.key}: query {name!r} has no relevant policy")
        row = {"id": name, "relevantDocId": best, "relevant": judged}
        rows.append(row | {k: v for k, v in fields.items() if not _missing(v)})
    write_json(path, rows)


def _missing(value):
    return pd.api.types.is_scalar(value) and pd.isna(value)


def _read_policies(folder):
    """Give {id: text} in the order of the paths."""
    texts, seen = {}, {}
    for path in sorted(folder.glob("*.txt")):
        if not (text := _read_text(path)).strip():
            raise InputError(f"{path}: is empty: write the policy, or remove the file")
        if path.stem.casefold() in seen:
            other = seen[path.stem.casefold()]
            raise InputError(f"{path}: has, but for case, the name of {other}")
        seen[path.stem.casefold()] = path.name
        texts[path.stem] = text
    if not texts:
        raise InputError(f"{folder}: holds no policy (*.txt): name another folder, or set {ROOT_VARIABLES[0]}")
    return texts


def _read_text(path):
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text: save it as UTF-8") from error
    return text.replace("\r\n", "\n")


def _read_rows(path):
    """Give the objects of the query file, their ids checked."""
    try:
        rows = parse_json(_read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: is not JSON: {error}") from error
    if not isinstance(rows, list) or not rows:
        raise InputError(f"{path}: must be a list of at least one query")
    seen = {}
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise _at(path, number, "is not an object")
        for field in _TEXTS:
            value = row.get(field)
            if not isinstance(value, str) or not value.strip():
                raise _at(path, number, f"field {field!r} must be text, not {value!r}")
        if "query_id" in row:
            raise _at(path, number, "has a field 'query_id': here its name is 'id'")
        first = seen.setdefault(row["id"].casefold(), number)
        if first != number:
            raise _at(path, number, f"id {row['id']!r} stood already in row {first}")
    return rows


def _judgements(path, number, row, canonical):
    """Give {policy: grade} of one row, the policies spelt as their files are."""
    named = row["relevantDocId"]
    grades = row.get("relevant", {named: 1})
    if not isinstance(grades, dict):
        raise _at(path, number, "field 'relevant' must be an object {policy: grade}")
    judged = {}
    for name, grade in grades.items():
        if name.casefold() not in canonical:
            raise _at(path, number, f"names the policy {name!r}, which has no file")
        if type(grade) is not int or grade < 0:
            raise _at(path, number, f"grade {grade!r} of {name!r} is no whole number")
        if canonical[name.casefold()] in judged:
            raise _at(path, number, f"judges the policy {name!r} twice")
        judged[canonical[name.casefold()]] = grade
    best = max(judged.values(), default=0)
    if best < 1 or judged.get(canonical.get(named.casefold())) != best:
        raise _at(path, number, f"relevantDocId {named!r} has not the best grade")
    return judged


def _groups(path, rows):
    """Give {query: label}, or None if no row has a label; all or none must."""
    labels = {row["id"]: row.get("group") for row in rows}
    if not any(labels.values()):
        return None
    for number, label in enumerate(labels.values(), 1):
        if not isinstance(label, str) or not label.strip():
            raise _at(path, number, "field 'group' must be text in all rows, or none")
    return labels


def _at(path, number, problem):
    return InputError(f"{path}: row {number}: {problem}")


def _query_frame(rows):
    fields = dict.fromkeys(("id", "text", *(name for row in rows for name in row)))
    frame = pd.DataFrame({name: [row.get(name) for row in rows] for name in fields})
    frame = frame.drop(columns=["relevantDocId", "relevant"], errors="ignore")
    return frame.rename(columns={"id": "query_id"})
