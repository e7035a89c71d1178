"""Collections in folders: the BEIR layout, documents with TREC judgements, and the Mini-Insurance layout.

Mini-Insurance: a policy's id is its file name in ``policies/`` without ``.txt``; ``queries/queries.json``
lists objects with ``id``, ``text`` and ``relevantDocId``. Two fields of our own carry what one id cannot,
``relevant`` ({policy: grade}) and ``group``. Ids are equal whatever their case.
"""

import json
import math
import os
from pathlib import Path

import pandas as pd

from casebook import paths
from casebook.data.splits import RetrievalDataset
from casebook.errors import InputError
from casebook.files import new_folder, write_json
from casebook.readers import parse_json, read_frame, read_lines
from casebook.trec import read_beir_qrels, read_qrels

# Share of judgements that may name what a collection lacks: one in twenty takes about
# .05 from a recall, which is half the interval of a few hundred queries.
MAX_MISSING = 0.05
ROOT_VARIABLES = ("EMBEDDINGSHIFT_DATASET_ROOT", "EMBEDDINGSHIFT_MINIINSURANCE_DATASET_ROOT")


def load_beir(folder, split="test", *, key=None, card=None, titles=True, max_missing=MAX_MISSING):
    """Read one split of a folder in the BEIR layout, ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/*.tsv``."""
    folder = Path(folder)
    corpus, questions = _one_of(folder, "corpus"), _one_of(folder, "queries")
    judged = folder / "qrels" / f"{split}.tsv"
    if not judged.is_file():
        splits = sorted(path.stem for path in folder.glob("qrels/*.tsv")) or ["none"]
        raise InputError(f"{judged}: no such file; splits here: {', '.join(splits)}")
    documents = _documents(corpus, "_id", titles)
    queries = read_frame(questions, "_id", "query_id")
    key = key or folder.resolve().name
    return _assemble(key, split, documents, queries, judged, read_beir_qrels(judged), card, max_missing)


def load_trec(documents, queries, qrels, *, key, split="all", id_field="id", card=None, titles=True):
    """Read documents and queries in JSON lines with judgements in TREC format."""
    documents = _documents(documents, id_field, titles)
    queries = read_frame(queries, id_field, "query_id")
    return _assemble(key, split, documents, queries, Path(qrels), read_qrels(qrels), card)


def read_collection(folder, titles=True):
    """Documents of a BEIR folder, or of the .txt and .md files of any other folder; judgements are not needed."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    if any((folder / f"corpus{end}").is_file() for end in (".jsonl", ".jsonl.gz")):
        return _documents(_one_of(folder, "corpus"), "_id", titles)
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".txt", ".md") and path.is_file())
    texts = {path.relative_to(folder).as_posix(): "\n".join(line for _, line in read_lines(path)) for path in files}
    filled = {name: text for name, text in texts.items() if text.strip()}
    if not filled:
        raise InputError(f"{folder}: holds no documents: put a corpus.jsonl (BEIR layout), .txt or .md files there")
    return pd.DataFrame({"doc_id": list(filled), "text": list(filled.values())})


def read_questions(path):
    """Questions without judgements, of a file or a BEIR folder."""
    path = Path(path)
    path = _one_of(path, "queries") if path.is_dir() else path
    return read_frame(path, "_id", "query_id")


def with_titles(documents):
    """Let the text of each document begin with its title: title, blank, text."""
    if "title" not in documents:
        return documents
    pairs = zip(documents["title"].fillna(""), documents["text"], strict=True)
    return documents.assign(text=[f"{title} {text}".strip() if title else text for title, text in pairs])


def _one_of(folder, stem):
    for suffix in (".jsonl", ".jsonl.gz"):
        if (folder / f"{stem}{suffix}").is_file():
            return folder / f"{stem}{suffix}"
    raise InputError(f"{folder}: is no BEIR folder: it has no {stem}.jsonl")


def _documents(path, id_field, titles):
    documents = read_frame(path, id_field, "doc_id", ("title", "text"), blank=True)
    return with_titles(documents) if titles else documents


def _assemble(key, split, documents, queries, path, qrels, card, most=MAX_MISSING):
    """Join the three parts and account for judgements about what is not there."""
    asked = queries[queries["query_id"].isin(set(qrels))].reset_index(drop=True)
    ordered = {query: dict(qrels[query]) for query in asked["query_id"]}
    known = set(documents["doc_id"])
    lacking = {d for row in qrels.values() for d in row if d not in known}
    unasked = {query: row for query, row in qrels.items() if query not in ordered}
    about = sum(d in lacking for row in ordered.values() for d in row)
    count, total = about + sum(map(len, unasked.values())), sum(map(len, qrels.values()))
    if count > most * total:
        raise _too_many_missing(path, unasked, lacking, count, total, most)
    return RetrievalDataset(
        key,
        split,
        documents,
        asked,
        ordered,
        card,
        groups=dict(zip(asked["query_id"], asked["group"], strict=True)) if "group" in asked else None,
        lacking=frozenset(lacking & {d for row in ordered.values() for d in row}),
        unasked={query: len(row) for query, row in unasked.items()},
    )


def _too_many_missing(path, queries, documents, count, total, most):
    """Error at the first judgement about a query or document that is not there."""
    for number, line in read_lines(path):
        fields = [field.strip() for field in line.split("\t")]
        fields = fields if len(fields) > 1 else line.split()
        named = documents.intersection(fields[1:3])
        if fields and fields[0] in queries:
            what = f"query {fields[0]!r}"
        elif named:
            what = f"document {min(named)!r}"
        else:
            continue
        enough = math.ceil(100 * count / total) / 100
        return InputError.at(
            path,
            number,
            f"judges the {what}, which does not exist; {count} of {total} "
            f"judgements name such ids ({count / total:.1%}), max_missing is {most:.0%}: "
            f"correct the files, or allow them with max_missing={enough:.2f} or more",
        )
    raise AssertionError("the judgements read name what their file does not")


def dataset_root():
    """Folder of the Mini-Insurance layout that is read when none is named."""
    given = (os.environ.get(name, "").strip() for name in ROOT_VARIABLES)
    return paths.ROOT / next((Path(value) for value in given if value), Path("samples") / "insurance")


def read_mini_insurance(folder=None, *, key=None):
    """Read a folder in the Mini-Insurance layout."""
    folder = Path(folder) if folder is not None else dataset_root()
    texts = _read_policies(folder / "policies")
    path = folder / "queries" / "queries.json"
    rows = _read_rows(path)
    canonical = {name.casefold(): name for name in texts}
    qrels = {row["id"]: _judgements(path, number, row, canonical) for number, row in enumerate(rows, 1)}
    fields = dict.fromkeys(("id", "text", *(name for row in rows for name in row)))
    queries = pd.DataFrame({name: [row.get(name) for row in rows] for name in fields})
    queries = queries.drop(columns=["relevantDocId", "relevant"], errors="ignore").rename(columns={"id": "query_id"})
    documents = pd.DataFrame({"doc_id": list(texts), "title": "", "text": list(texts.values())})
    groups = {row["id"]: row.get("group") for row in rows}
    if not any(groups.values()):
        groups = None
    for number, label in enumerate((groups or {}).values(), 1):
        if not isinstance(label, str) or not label.strip():
            raise _at(path, number, "field 'group' must be text in all rows, or none")
    return RetrievalDataset(key or folder.resolve().name, "test", documents, queries, qrels, groups=groups)


def write_mini_insurance(dataset, folder):
    """Write a dataset as a new folder in the Mini-Insurance layout.

    ``relevantDocId`` is the first policy with the best grade.
    """
    clash = {"id", "relevantDocId", "relevant"} & {*dataset.queries.columns}
    if clash:
        raise InputError(f"{dataset.key}: the queries have a column {min(clash)!r}")
    names = [paths.valid_name(name, "policy") for name in dataset.documents["doc_id"]]
    if len({name.casefold() for name in names}) < len(names):
        raise InputError(f"{dataset.key}: two policies differ in case alone")
    place = {name: at for at, name in enumerate(names)}
    rows = []
    for fields in dataset.queries.to_dict("records"):
        name = fields.pop("query_id")
        judged = dataset.qrels.get(name, {})
        best = min(judged, key=lambda doc: (-judged[doc], place[doc]), default=None)
        if best is None or judged[best] < 1:
            raise InputError(f"{dataset.key}: query {name!r} has no relevant policy")
        row = {"id": name, "relevantDocId": best, "relevant": judged}
        missing = {k for k, v in fields.items() if pd.api.types.is_scalar(v) and pd.isna(v)}
        rows.append(row | {k: v for k, v in fields.items() if k not in missing})
    with new_folder(folder) as temporary:
        (temporary / "policies").mkdir()
        for name, text in zip(names, dataset.documents["text"], strict=True):
            (temporary / "policies" / f"{name}.txt").write_bytes(text.encode())
        write_json(temporary / "queries" / "queries.json", rows)
    return Path(folder)


def _read_policies(folder):
    """{id: text} in the order of the paths."""
    texts, seen = {}, {}
    for path in sorted(folder.glob("*.txt")):
        if not (text := _read_text(path)).strip():
            raise InputError(f"{path}: is empty: write the policy, or remove the file")
        other = seen.setdefault(path.stem.casefold(), path.name)
        if other != path.name:
            raise InputError(f"{path}: has, but for case, the name of {other}")
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
    """Objects of the query file, their ids checked."""
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
        for field in ("id", "text", "relevantDocId"):
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
    """{policy: grade} of one row, the policies spelt as their files are."""
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


def _at(path, number, problem):
    return InputError(f"{path}: row {number}: {problem}")
