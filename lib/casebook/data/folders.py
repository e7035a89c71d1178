"""Collections in folders: BEIR, documents with TREC judgements, and Mini-Insurance."""

import math
from pathlib import Path
from typing import Annotated

import pandas as pd
import pydantic

from casebook.data.cards import first_problem
from casebook.data.rankings import is_table, read_rankings
from casebook.data.splits import RetrievalDataset
from casebook.errors import InputError
from casebook.readers import read_frame, read_json, read_text
from casebook.trec import read_qrels

# Share of judgements that may name what a collection lacks: one in twenty takes about
# .05 from a recall, which is half the interval of a few hundred queries.
MAX_MISSING = 0.05


def load_beir(folder, split="test", *, key=None, card=None, titles=True, max_missing=MAX_MISSING):
    """One split of a BEIR folder: ``corpus.jsonl``, ``queries.jsonl``, ``qrels/*.tsv``."""
    folder = Path(folder)
    corpus_path = one_of(folder, "corpus")
    queries_path = one_of(folder, "queries")
    qrels_path = folder / "qrels" / f"{split}.tsv"
    if not qrels_path.is_file():
        raise InputError(f"{qrels_path}: no such file; {_other_judgements(folder)}")
    return _assemble(
        key=key or folder.resolve().name,
        split=split,
        documents=_documents(corpus_path, "_id", titles),
        queries=read_frame(queries_path, "_id", "query_id"),
        qrels_path=qrels_path,
        max_missing=max_missing,
        card=card,
    )


def load_trec(documents, queries, qrels, *, key, split="all", id_field="id", card=None):
    """Documents and queries in JSON lines with judgements in TREC format."""
    return _assemble(
        key=key,
        split=split,
        documents=_documents(documents, id_field, titles=False),
        queries=read_frame(queries, id_field, "query_id"),
        qrels_path=Path(qrels),
        max_missing=MAX_MISSING,
        card=card,
    )


def read_collection(folder, titles=True):
    """Read documents of a BEIR folder, or the .txt and .md files of any other; no judgements."""
    folder = Path(folder)
    check_folder(folder)
    if any((folder / f"corpus{end}").is_file() for end in (".jsonl", ".jsonl.gz")):
        return _documents(one_of(folder, "corpus"), "_id", titles)
    return _text_files(folder)


def _text_files(folder):
    """Documents of a folder of .txt and .md files."""
    texts = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in (".txt", ".md") and path.is_file():
            text = read_text(path)
            if text.strip():
                texts[path.relative_to(folder).as_posix()] = text
    if not texts:
        raise InputError(
            f"{folder}: holds no documents: put a corpus.jsonl (BEIR layout), .txt or .md files "
            "there"
        )
    return pd.DataFrame({"doc_id": list(texts), "text": list(texts.values())})


def read_questions(path):
    """Questions without judgements, of a file or a BEIR folder."""
    path = Path(path)
    path = one_of(path, "queries") if path.is_dir() else path
    return read_frame(path, "_id", "query_id")


def check_folder(folder):
    """Refuse what is no folder, and say so of a file."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        remedy = "give the folder with its corpus.jsonl (BEIR layout), or one of .txt and .md files"
        raise InputError(f"{folder}: is a file, not a folder: {remedy}")
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")


def _other_judgements(folder):
    """Which files of a folder may hold its judgements."""
    places = [*folder.glob("*qrel*"), *folder.glob("qrels/*")]
    names = sorted(path.relative_to(folder).as_posix() for path in places if path.is_file())
    rule = "judgements are in qrels/SPLIT.tsv under the line 'query-id, corpus-id, score' (tabs)"
    return f"{rule}; these may be the judgements: {', '.join(names) or 'none'}"


def with_titles(documents):
    """Let the text of each document begin with its title: title, blank, text."""
    if "title" not in documents:
        return documents
    pairs = zip(documents["title"].fillna(""), documents["text"], strict=True)
    return documents.assign(
        text=[f"{title} {text}".strip() if title else text for title, text in pairs]
    )


def one_of(folder, stem):
    """Path of a file of JSON lines, plain or compressed."""
    for path in (folder / f"{stem}.jsonl", folder / f"{stem}.jsonl.gz"):
        if path.is_file():
            return path
    raise InputError(f"{folder}: is no BEIR folder: it has no {stem}.jsonl")


def _documents(path, id_field, titles):
    documents = read_frame(path, id_field, "doc_id", ("title", "text"), blank=True)
    return with_titles(documents) if titles else documents


def _assemble(*, key, split, documents, queries, qrels_path, max_missing, card):
    """Join the three parts, and account for judgements about what is not there."""
    if is_table(qrels_path, "qrels"):
        qrels, reading = read_rankings(qrels_path, "qrels")
        judged = reading.table
    else:
        qrels = read_qrels(qrels_path)
        pairs = [(query, document) for query, grades in qrels.items() for document in grades]
        judged = pd.DataFrame(pairs, columns=["query", "document"])
    queries = queries[queries["query_id"].isin(list(qrels))].reset_index(drop=True)
    is_unasked = ~judged["query"].isin(queries["query_id"])
    is_lacking = ~is_unasked & ~judged["document"].isin(documents["doc_id"])
    missing = judged[is_unasked | is_lacking]
    share = len(missing) / len(judged)
    if share > max_missing:
        row = missing.index[0]
        kind = "query" if is_unasked[row] else "document"
        raise InputError(
            f"{qrels_path}: judges the {kind} {missing[kind][row]!r}, which does not exist; "
            f"{len(missing)} of {len(judged)} judgements name such ids ({share:.1%}), max_missing "
            f"is {max_missing:.0%}: correct the files, or allow them with "
            f"max_missing={math.ceil(100 * share) / 100:.2f}"
        )
    groups = None
    if "group" in queries:
        groups = dict(zip(queries["query_id"], queries["group"], strict=True))
    return RetrievalDataset(
        key,
        split,
        documents,
        queries,
        {query: qrels[query] for query in queries["query_id"]},
        card,
        groups=groups,
        lacking=frozenset(judged["document"][is_lacking]),
        unasked=judged["query"][is_unasked].value_counts(sort=False).to_dict(),
    )


NonBlankText = Annotated[str, pydantic.StringConstraints(pattern=r"\S")]


class _Question(pydantic.BaseModel):
    """One question of the Mini-Insurance layout; other fields are metadata."""

    model_config = pydantic.ConfigDict(strict=True, extra="allow")

    id: NonBlankText
    text: NonBlankText
    relevantDocId: NonBlankText  # noqa: N815
    # Two fields of our own: what one id cannot say.
    relevant: dict[str, pydantic.NonNegativeInt] | None = None
    group: NonBlankText | None = None


def read_mini_insurance(folder, *, key=None):
    """Read ``policies/<id>.txt`` and ``queries/queries.json``.

    A query is an object with ``id``, ``text`` and ``relevantDocId``.

    Ids are equal whatever their case.
    """
    folder = Path(folder)
    documents = _policies(folder / "policies")
    policy_ids = {name.casefold(): name for name in documents["doc_id"]}
    path = folder / "queries" / "queries.json"
    rows = read_json(path)
    if not isinstance(rows, list) or not rows:
        raise InputError(f"{path}: must be a list of at least one query")
    qrels = {}
    groups = {}
    for number, row in enumerate(rows, 1):
        question, grades = _question(row, policy_ids, where=f"{path}: row {number}")
        qrels[question.id] = grades
        groups[question.id] = question.group
    if len({query.casefold() for query in qrels}) < len(rows):
        raise InputError(f"{path}: an id occurs twice; case does not count")
    if not any(groups.values()):
        groups = None
    elif not all(groups.values()):
        raise InputError(f"{path}: field group must be in all rows, or in none")
    queries = pd.DataFrame(rows)
    further = queries.columns.drop(["id", "text", "relevantDocId", "relevant"], errors="ignore")
    queries = queries[["id", "text", *further]].rename(columns={"id": "query_id"})
    name = key or folder.resolve().name
    return RetrievalDataset(name, "test", documents, queries, qrels, groups=groups)


def _policies(folder):
    """Policies of a folder as documents, whose ids differ in more than case."""
    paths_of_policies = sorted(folder.glob("*.txt"))
    names = [path.stem for path in paths_of_policies]
    texts = [_policy(path) for path in paths_of_policies]
    if not names or len({name.casefold() for name in names}) < len(names):
        raise InputError(f"{folder}: holds no policy (*.txt), or two that differ in case alone")
    return pd.DataFrame({"doc_id": names, "title": "", "text": texts})


def _question(row, policy_ids, where):
    """One question and the grades of its policies, {doc_id: grade}."""
    try:
        question = _Question.model_validate(row)
    except ValueError as error:
        raise InputError(f"{where}: {first_problem(error)}") from error
    stated_grades = question.relevant or {question.relevantDocId: 1}
    grades = {name.casefold(): grade for name, grade in stated_grades.items()}
    for policy in grades:
        if policy not in policy_ids:
            raise InputError(f"{where}: names the policy {policy!r}, which has no file")
    best = max(grades.values())
    is_best = grades.get(question.relevantDocId.casefold()) == best > 0
    if not is_best or len(grades) < len(stated_grades):
        raise InputError(
            f"{where}: relevantDocId {question.relevantDocId!r} has not the best grade, "
            "or a policy is judged twice"
        )
    return question, {policy_ids[policy]: grade for policy, grade in grades.items()}


def _policy(path):
    """A text with its line ends, on which embeddings by hash depend."""
    if not read_text(path).strip():  # which says what is no UTF-8
        raise InputError(f"{path}: is empty: write the policy, or remove the file")
    return path.read_text(encoding="utf-8-sig")
