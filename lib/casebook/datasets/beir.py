"""Folders in the BEIR layout, and documents with TREC judgements."""

import math
from dataclasses import replace
from pathlib import Path

from casebook.datasets.corpus import MAX_MISSING, RetrievalDataset, halve, with_titles
from casebook.datasets.jsonl import read_frame, read_lines
from casebook.errors import InputError
from casebook.formats.trec import read_beir_qrels, read_qrels


def load_beir(
    folder, split="test", *, key=None, card=None, titles=True, max_missing=MAX_MISSING
):
    """Read one split of a folder in the BEIR layout.

    Parameters
    ----------
    folder : path-like
        Holds ``corpus.jsonl`` and ``queries.jsonl`` (``_id``, ``text``, optional
        ``title`` and ``metadata``; each may be compressed, ``.gz``) and
        ``qrels/<split>.tsv``.
    split : str
        Name of the judgement file.
    key : str, optional
        Name of the dataset; the folder's name by default.
    card : Card, optional
        Card of the dataset.
    titles : bool
        Whether the text of a document begins with its title, as in BEIR's own figures.
    max_missing : float
        Largest share of judgements that may name a document or a query that the
        folder lacks. A lacking document stays in the judgements, as in trec_eval: no
        system can find it. A lacking query cannot be asked and is left out.

    Returns
    -------
    RetrievalDataset
        With the queries that the split judges, in the order of ``queries.jsonl``; a
        metadata field ``group`` of the queries becomes ``groups``.

    Raises
    ------
    InputError
        If a file is missing or has a defect, or too many judgements name something
        that is not there; names file and line.

    References
    ----------
    Thakur et al. (2021), BEIR: a heterogeneous benchmark for zero-shot evaluation of
    information retrieval models, NeurIPS Datasets and Benchmarks.
    """
    folder = Path(folder)
    corpus, questions = _one_of(folder, "corpus"), _one_of(folder, "queries")
    judged = folder / "qrels" / f"{split}.tsv"
    if not judged.is_file():
        splits = sorted(path.stem for path in folder.glob("qrels/*.tsv")) or ["none"]
        raise InputError(f"{judged}: no such file; splits here: {', '.join(splits)}")
    documents = _read_documents(corpus, "_id")
    return _assemble(
        key or folder.resolve().name,
        split,
        with_titles(documents) if titles else documents,
        read_frame(questions, "_id", "query_id"),
        judged,
        read_beir_qrels(judged),
        card,
        max_missing,
    )


def read_collection(folder, titles=True):
    """Read the documents of a BEIR folder, without questions and judgements.

    Parameters
    ----------
    folder : path-like
        Holds ``corpus.jsonl``.
    titles : bool
        Whether the text of a document begins with its title.

    Returns
    -------
    pandas.DataFrame
        ``doc_id``, ``title``, ``text`` and any metadata.

    Raises
    ------
    InputError
        If the file is missing or has a defect; names file and line.
    """
    documents = _read_documents(_one_of(Path(folder), "corpus"), "_id")
    return with_titles(documents) if titles else documents


def read_questions(path):
    """Read questions without judgements.

    Parameters
    ----------
    path : path-like
        A BEIR folder with ``queries.jsonl``, or such a file.

    Returns
    -------
    pandas.DataFrame
        ``query_id``, ``text`` and any metadata.

    Raises
    ------
    InputError
        If the file is missing or has a defect; names file and line.
    """
    path = Path(path)
    path = _one_of(path, "queries") if path.is_dir() else path
    return read_frame(path, "_id", "query_id")


def load_trec(
    documents,
    queries,
    qrels,
    *,
    key,
    split="all",
    id_field="id",
    card=None,
    titles=True,
):
    """Read documents and queries in JSON lines with judgements in TREC format.

    Parameters
    ----------
    documents, queries : path-like
        JSON lines with an id and ``text``; ``.gz`` and ``.xz`` are read too.
    qrels : path-like
        TREC judgements: query, iteration, document, grade.
    key, split : str
        Names of the dataset and of the split.
    id_field : str
        Name of the id in both JSON files.
    card : Card, optional
        Card of the dataset.
    titles : bool
        Whether the text of a document begins with its title.

    Returns
    -------
    RetrievalDataset
        With the judged queries, in the order of their file.

    Raises
    ------
    InputError
        If a file is missing or has a defect; names file and line.
    """
    documents = _read_documents(documents, id_field)
    return _assemble(
        key,
        split,
        with_titles(documents) if titles else documents,
        read_frame(queries, id_field, "query_id"),
        Path(qrels),
        read_qrels(qrels),
        card,
    )


def shipped(card, files, split):
    """Read one split of a BEIR folder that has a card.

    Parameters
    ----------
    card : Card
        Card of the dataset.
    files : dict of pathlib.Path
        Verified files by name; ``corpus.jsonl`` marks the folder.
    split : str
        Name of the split.

    Returns
    -------
    RetrievalDataset
        The split.
    """
    folder = files["corpus.jsonl"].parent
    return load_beir(folder, split, key=card.key, card=card, titles=False)


def shipped_halves(card, files, split):
    """Read a BEIR folder that has a card and one set of judgements, in two halves.

    Parameters
    ----------
    card : Card
        Card of the dataset.
    files : dict of pathlib.Path
        Verified files by name; the judgements are ``qrels/test.tsv``.
    split : str
        ``all``, or one of the halves ``dev`` and ``test``, which share no group.

    Returns
    -------
    RetrievalDataset
        The split.
    """
    whole = replace(shipped(card, files, "test"), split=split)
    if split == "all":
        return whole
    return whole.subset(halve(whole.groups, seed=0)[split], split)


def _one_of(folder, stem):
    for suffix in (".jsonl", ".jsonl.gz"):
        if (folder / f"{stem}{suffix}").is_file():
            return folder / f"{stem}{suffix}"
    raise InputError(f"{folder}: is no BEIR folder: it has no {stem}.jsonl")


def _read_documents(path, id_field):
    return read_frame(path, id_field, "doc_id", ("title", "text"), blank=True)


def _assemble(key, split, documents, queries, path, qrels, card, most=MAX_MISSING):
    """Join the three parts and account for judgements about what is not there."""
    asked = queries[queries["query_id"].isin(set(qrels))].reset_index(drop=True)
    ordered = {query: dict(qrels[query]) for query in asked["query_id"]}
    known = set(documents["doc_id"])
    lacking = frozenset(d for row in qrels.values() for d in row if d not in known)
    unasked = {query: row for query, row in qrels.items() if query not in ordered}
    about = sum(d in lacking for row in ordered.values() for d in row)
    count = about + sum(map(len, unasked.values()))
    total = sum(map(len, qrels.values()))
    if count > most * total:
        where = _first_about(path, unasked, lacking)
        raise InputError.at(path, *_missing(where, count, total, most))
    groups = None
    if "group" in asked:
        groups = dict(zip(asked["query_id"], asked["group"], strict=True))
    return RetrievalDataset(
        key,
        split,
        documents,
        asked,
        ordered,
        card,
        groups=groups,
        lacking=lacking & {d for row in ordered.values() for d in row},
        unasked={query: len(row) for query, row in unasked.items()},
    )


def _first_about(path, queries, documents):
    """Give number, kind and id of the first judgement about something unknown."""
    for number, line in read_lines(path):
        fields = [field.strip() for field in line.split("\t")]
        fields = fields if len(fields) > 1 else line.split()
        if fields and fields[0] in queries:
            return number, "query", fields[0]
        named = documents.intersection(fields[1:3])
        if named:
            return number, "document", min(named)
    raise AssertionError("the judgements read name what their file does not")


def _missing(where, count, total, most):
    number, kind, name = where
    enough = math.ceil(100 * count / total) / 100
    return number, (
        f"judges the {kind} {name!r}, which does not exist; {count} of {total} "
        f"judgements name such ids ({count / total:.1%}), max_missing is {most:.0%}: "
        f"correct the files, or allow them with max_missing={enough:.2f} or more"
    )
