"""Collections in folders: BEIR, documents with TREC judgements, and Mini-Insurance."""

import math
from operator import index
from pathlib import Path

import pandas as pd

from casebook.data.rankings import read_rankings
from casebook.data.splits import RetrievalDataset
from casebook.errors import InputError
from casebook.paths import valid_name
from casebook.readers import read_frame, read_json, read_text

# Share of judgements that may name what a collection lacks: one in twenty takes about
# .05 from a recall, which is half the interval of a few hundred queries.
MAX_MISSING = 0.05


def load_folder(folder, split="test", *, key=None, max_missing=MAX_MISSING):
    check_folder(folder)
    if not (folder / "policies").is_dir():
        return load_beir(folder, valid_name(split, "split"), key=key, max_missing=max_missing)
    if split != "test":
        raise InputError(f"{folder}: Mini-Insurance has the split 'test' only, not {split!r}")
    return read_mini_insurance(folder, key=key)


def load_beir(folder, split="test", *, key=None, max_missing=MAX_MISSING, card=None):
    """One split of a BEIR folder: ``corpus.jsonl``, ``queries.jsonl``, ``qrels/*.tsv``."""
    folder = Path(folder)
    files = one_of(folder, "corpus"), one_of(folder, "queries"), folder / "qrels" / f"{split}.tsv"
    if not files[2].is_file():
        there = sorted(path.name for path in [*folder.glob("*qrel*.*"), *folder.glob("qrels/*")])
        rule = "judgements are in qrels/SPLIT.tsv, under the line query-id, corpus-id, score"
        raise InputError(f"{files[2]}: no such file: {rule}; there are {', '.join(there)}")
    key = key or folder.resolve().name
    return load_trec(*files, key=key, split=split, id_field="_id", card=card, share=max_missing)


def load_trec(
    documents, queries, qrels, *, key, split="all", id_field="id", card=None, share=MAX_MISSING
):
    """Documents and queries in JSON lines with judgements in TREC format, or in a table.

    At most this `share` of judgements may be about what is not there.
    """
    documents = _documents(documents, id_field)
    queries = read_frame(queries, id_field, "query_id")
    grades, _ = read_rankings(qrels, "qrels")
    judged = pd.Series(grades, dtype=object).map(list).explode()
    queries = queries[queries["query_id"].isin(list(grades))].reset_index(drop=True)
    is_asked = judged.index.isin(queries["query_id"])
    is_lacking = is_asked & ~judged.isin(documents["doc_id"])
    missing = judged[~is_asked | is_lacking]
    found = len(missing) / len(judged)
    if found > share:
        query, document = next(missing.items())
        raise InputError(
            f"{qrels}: judges the document {document!r} for the query {query!r}, one of which does "
            f"not exist, as in {len(missing)} of {len(judged)} judgements ({found:.1%}): correct "
            f"the files, or allow them with max_missing={math.ceil(100 * found) / 100:.2f}"
        )
    return RetrievalDataset(
        key,
        split,
        documents,
        queries,
        {query: grades[query] for query in queries["query_id"]},
        card,
        groups=_groups(queries),
        lacking=frozenset(judged[is_lacking]),
        unasked=judged.index[~is_asked].value_counts(sort=False).to_dict(),
    )


def _groups(queries):
    return queries.set_index("query_id")["group"].to_dict() if "group" in queries else None


def read_collection(folder, titles=True):
    """Documents of a BEIR folder, or the .txt and .md files of any other; no judgements."""
    folder = Path(folder)
    check_folder(folder)
    if any(folder.glob("corpus.jsonl*")):
        documents = _documents(one_of(folder, "corpus"), "_id")
        return with_titles(documents) if titles else documents
    paths = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in (".txt", ".md")]
    texts = {path.relative_to(folder).as_posix(): read_text(path) for path in paths}
    rows = [(name, text) for name, text in texts.items() if text.strip()]
    if not rows:
        remedy = "put a corpus.jsonl (BEIR layout), .txt or .md files there"
        raise InputError(f"{folder}: holds no documents: {remedy}")
    return pd.DataFrame(rows, columns=["doc_id", "text"])


def read_questions(path):
    path = Path(path)
    path = one_of(path, "queries") if path.is_dir() else path
    return read_frame(path, "_id", "query_id")


def check_folder(folder):
    if not Path(folder).is_dir():
        problem = "is a file, not a folder" if Path(folder).is_file() else "no such folder"
        remedy = "give the folder with its corpus.jsonl (BEIR layout), or one of .txt and .md files"
        raise InputError(f"{folder}: {problem}: {remedy}")


def with_titles(documents):
    """The text of each document after its title: title, blank, text."""
    if "title" not in documents:
        return documents
    titles = documents["title"].fillna("")
    titled = (titles + " " + documents["text"]).str.strip()
    return documents.assign(text=titled.where(titles != "", documents["text"]))


def one_of(folder, stem):
    for path in (folder / f"{stem}.jsonl", folder / f"{stem}.jsonl.gz"):
        if path.is_file():
            return path
    raise InputError(f"{folder}: is no BEIR folder: it has no {stem}.jsonl")


def _documents(path, id_field):
    return read_frame(path, id_field, "doc_id", ("title", "text"), blank=True)


def read_mini_insurance(folder, *, key=None):
    """``policies/<id>.txt`` and ``queries/queries.json``, a list of id, text and relevantDocId.

    Ids are equal whatever their case. Two fields are ours: ``relevant`` has the grades of several
    policies, and ``group`` the label of dependent questions.
    """
    folder = Path(folder)
    policies = {path.stem: path for path in sorted((folder / "policies").glob("*.txt"))}
    names = {name.casefold(): name for name in policies}
    path = folder / "queries" / "queries.json"
    rows = read_json(path) if names else []
    if len(names) < max(1, len(policies)) or not isinstance(rows, list) or not rows:
        problem = "holds no policy, two that differ in case alone, or no list of queries"
        raise InputError(f"{folder}: {problem}: policies/*.txt, queries/queries.json")
    qrels = {}
    for number, row in enumerate(rows, 1):
        try:
            stated = row.get("relevant") or {row["relevantDocId"]: 1}
            qrels[row["id"]] = {names[name.casefold()]: index(stated[name]) for name in stated}
            row["text"].strip()
        except (AttributeError, KeyError, TypeError) as error:
            problem = f"lacks {error}, a field or the file of a policy: id, text, relevantDocId"
            raise InputError(f"{path}: row {number}: {problem}") from None
    queries = pd.DataFrame(rows).rename(columns={"id": "query_id"})
    queries = queries.drop(columns=["relevantDocId", "relevant"], errors="ignore")
    # With its last line end, on which embeddings by hash depend.
    texts = [policy.read_text(encoding="utf-8-sig") for policy in policies.values()]
    documents = pd.DataFrame({"doc_id": list(policies), "title": "", "text": texts})
    name = key or folder.resolve().name
    return RetrievalDataset(name, "test", documents, queries, qrels, groups=_groups(queries))
