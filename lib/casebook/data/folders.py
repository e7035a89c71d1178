"""Collections in folders: BEIR, documents with TREC judgements, and Mini-Insurance."""

import math
from pathlib import Path
from typing import Annotated

import pandas as pd
import pydantic

from casebook import paths
from casebook.data.cards import first_problem
from casebook.data.splits import RetrievalDataset
from casebook.errors import InputError
from casebook.readers import read_frame, read_json, read_lines, unreadable
from casebook.trec import judgements, read_beir_qrels, read_qrels

# Share of judgements that may name what a collection lacks: one in twenty takes about
# .05 from a recall, which is half the interval of a few hundred queries.
MAX_MISSING = 0.05


def load_beir(folder, split="test", *, key=None, card=None, titles=True, max_missing=MAX_MISSING):
    """Read one split of a BEIR folder: ``corpus.jsonl``, ``queries.jsonl``, ``qrels/*.tsv``."""
    folder = Path(folder)
    corpus, questions = _one_of(folder, "corpus"), _one_of(folder, "queries")
    judged = folder / "qrels" / f"{split}.tsv"
    if not judged.is_file():
        raise InputError(f"{judged}: no such file; {_other_judgements(folder)}")
    documents = _documents(corpus, "_id", titles)
    queries = read_frame(questions, "_id", "query_id")
    key = key or folder.resolve().name
    return _assemble(
        key, split, documents, queries, judged, read_beir_qrels(judged), card, max_missing
    )


def load_trec(documents, queries, qrels, *, key, split="all", id_field="id", card=None):
    """Read documents and queries in JSON lines with judgements in TREC format."""
    documents = _documents(documents, id_field, titles=False)
    queries = read_frame(queries, id_field, "query_id")
    return _assemble(key, split, documents, queries, Path(qrels), read_qrels(qrels), card)


def read_collection(folder, titles=True):
    """Read documents of a BEIR folder, or the .txt and .md files of any other; no judgements."""
    folder = Path(folder)
    check_folder(folder)
    if any((folder / f"corpus{end}").is_file() for end in (".jsonl", ".jsonl.gz")):
        return _documents(_one_of(folder, "corpus"), "_id", titles)
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in (".txt", ".md") and path.is_file()
    )
    texts = {
        path.relative_to(folder).as_posix(): "\n".join(line for _, line in read_lines(path))
        for path in files
    }
    filled = {name: text for name, text in texts.items() if text.strip()}
    if not filled:
        raise InputError(
            f"{folder}: holds no documents: put a corpus.jsonl (BEIR layout), .txt or .md files "
            "there"
        )
    return pd.DataFrame({"doc_id": list(filled), "text": list(filled.values())})


def read_questions(path):
    """Questions without judgements, of a file or a BEIR folder."""
    path = Path(path)
    path = _one_of(path, "queries") if path.is_dir() else path
    return read_frame(path, "_id", "query_id")


def check_folder(folder):
    """Refuse what is no folder, and say so of a file."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        remedy = "give the folder with its corpus.jsonl (BEIR layout), or one of .txt and .md files"
        raise InputError(f"{folder}: is a file, not a folder: {remedy}")
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    paths.refuse_whole_disk(folder)


def _other_judgements(folder):
    """Say which splits a folder has, else which files may hold its judgements."""
    splits = sorted(path.stem for path in folder.glob("qrels/*.tsv"))
    if splits:
        return f"splits here: {', '.join(splits)}"
    places = [*folder.glob("*qrel*"), *folder.glob("qrels/*")]
    names = sorted(path.relative_to(folder).as_posix() for path in places if path.is_file())
    found = f"; these may be the judgements: {', '.join(names)}" if names else ""
    return (
        "judgements stand in qrels/NAME.tsv under the line 'query-id, corpus-id, score' (tabs)"
        f"{found}"
    )


def with_titles(documents):
    """Let the text of each document begin with its title: title, blank, text."""
    if "title" not in documents:
        return documents
    pairs = zip(documents["title"].fillna(""), documents["text"], strict=True)
    return documents.assign(
        text=[f"{title} {text}".strip() if title else text for title, text in pairs]
    )


def _one_of(folder, stem):
    for path in (folder / f"{stem}.jsonl", folder / f"{stem}.jsonl.gz"):
        if path.is_file():
            return path
    raise InputError(f"{folder}: is no BEIR folder: it has no {stem}.jsonl")


def _documents(path, id_field, titles):
    documents = read_frame(path, id_field, "doc_id", ("title", "text"), blank=True)
    return with_titles(documents) if titles else documents


def _assemble(key, split, documents, queries, path, qrels, card, most=MAX_MISSING):
    """Join the three parts and account for judgements about what is not there."""
    asked = queries[queries["query_id"].isin(set(qrels))].reset_index(drop=True)
    ordered = {query: dict(qrels[query]) for query in asked["query_id"]}
    known = set(documents["doc_id"])
    lacking = {doc for row in qrels.values() for doc in row if doc not in known}
    unasked = {query: len(row) for query, row in qrels.items() if query not in ordered}
    about = [doc for row in ordered.values() for doc in row if doc in lacking]
    count, total = len(about) + sum(unasked.values()), sum(map(len, qrels.values()))
    if count > most * total:
        number, what = next(
            (line, f"query {query!r}" if query in unasked else f"document {document!r}")
            for line, query, document, _ in judgements(path)
            if query in unasked or document in lacking
        )
        raise InputError.at(
            path,
            number,
            f"judges the {what}, which does not exist; {count} of {total} judgements name such ids "
            f"({count / total:.1%}), max_missing is {most:.0%}: "
            "correct the files, or allow them with "
            f"max_missing={math.ceil(100 * count / total) / 100:.2f}",
        )
    groups = dict(zip(asked["query_id"], asked["group"], strict=True)) if "group" in asked else None
    missing = {"lacking": frozenset(about), "unasked": unasked}
    return RetrievalDataset(key, split, documents, asked, ordered, card, groups=groups, **missing)


Text = Annotated[str, pydantic.StringConstraints(pattern=r"\S")]


class _Question(pydantic.BaseModel):
    """One question of the Mini-Insurance layout; other fields are metadata."""

    model_config = pydantic.ConfigDict(strict=True, extra="allow")

    id: Text
    text: Text
    relevantDocId: Text  # noqa: N815
    # Two fields of our own: what one id cannot say.
    relevant: dict[str, pydantic.NonNegativeInt] | None = None
    group: Text | None = None


def read_mini_insurance(folder, *, key=None):
    """Read ``policies/<id>.txt`` and ``queries/queries.json``.

    A query is an object with ``id``, ``text`` and ``relevantDocId``.

    Ids are equal whatever their case.
    """
    folder = Path(folder)
    texts = {path.stem: _policy(path) for path in sorted((folder / "policies").glob("*.txt"))}
    known = {name.casefold(): name for name in texts}
    if not texts or len(known) < len(texts):
        raise InputError(
            f"{folder / 'policies'}: holds no policy (*.txt), or two that differ in case alone"
        )
    path = folder / "queries" / "queries.json"
    rows = read_json(path)
    if not isinstance(rows, list) or not rows:
        raise InputError(f"{path}: must be a list of at least one query")
    qrels, groups = {}, {}
    for number, row in enumerate(rows, 1):
        try:
            question = _Question.model_validate(row)
            grades = question.relevant or {question.relevantDocId: 1}
            judged = {known[name.casefold()]: grade for name, grade in grades.items()}
        except KeyError as error:
            raise InputError(
                f"{path}: row {number}: names the policy {error}, which has no file"
            ) from error
        except ValueError as error:
            raise InputError(f"{path}: row {number}: {first_problem(error)}") from error
        best = max(judged.values())
        if (
            len(judged) < len(grades)
            or best < 1
            or judged.get(known.get(question.relevantDocId.casefold())) != best
        ):
            what = (
                f"relevantDocId {question.relevantDocId!r} has not the best grade, "
                "or a policy is judged twice"
            )
            raise InputError(f"{path}: row {number}: {what}")
        qrels[question.id], groups[question.id] = judged, question.group
    if len({name.casefold() for name in qrels}) < len(rows):
        raise InputError(f"{path}: an id occurs twice; case does not count")
    grouped = any(groups.values())
    if grouped and not all(groups.values()):
        raise InputError(f"{path}: field group must be in all rows, or in none")
    queries = pd.DataFrame(rows).drop(columns=["relevantDocId", "relevant"], errors="ignore")
    queries = queries[["id", "text", *queries.columns.drop(["id", "text"])]].rename(
        columns={"id": "query_id"}
    )
    documents = pd.DataFrame({"doc_id": list(texts), "title": "", "text": list(texts.values())})
    name = key or folder.resolve().name
    return RetrievalDataset(
        name, "test", documents, queries, qrels, groups=groups if grouped else None
    )


def _policy(path):
    """Read a text with its line ends, on which embeddings by hash depend."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text: save it as UTF-8") from error
    if not text.strip():
        raise InputError(f"{path}: is empty: write the policy, or remove the file")
    return text
