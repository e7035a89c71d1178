"""Folders in the BEIR layout, and documents with TREC judgements."""

from dataclasses import replace
from pathlib import Path

from casebook.datasets.corpus import RetrievalDataset, halve
from casebook.datasets.jsonl import read_frame, read_lines
from casebook.errors import InputError
from casebook.formats.trec import read_beir_qrels, read_qrels


def load_beir(folder, split="test", *, key=None, card=None):
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

    Returns
    -------
    RetrievalDataset
        With the queries that the split judges, in the order of ``queries.jsonl``; a
        metadata field ``group`` of the queries becomes ``groups``.

    Raises
    ------
    InputError
        If a file is missing or has a defect; names file and line.

    References
    ----------
    Thakur et al. (2021), BEIR: a heterogeneous benchmark for zero-shot evaluation of
    information retrieval models, NeurIPS Datasets and Benchmarks.
    """
    folder = Path(folder)
    judged = folder / "qrels" / f"{split}.tsv"
    if not judged.is_file():
        splits = sorted(path.stem for path in folder.glob("qrels/*.tsv")) or ["none"]
        raise InputError(f"{judged}: no such file; splits here: {', '.join(splits)}")
    return _assemble(
        key or folder.resolve().name,
        split,
        _read_documents(_one_of(folder, "corpus"), "_id"),
        read_frame(_one_of(folder, "queries"), "_id", "query_id"),
        judged,
        read_beir_qrels(judged),
        card,
    )


def read_collection(folder):
    """Read the documents of a BEIR folder, without questions and judgements.

    Parameters
    ----------
    folder : path-like
        Holds ``corpus.jsonl``.

    Returns
    -------
    pandas.DataFrame
        ``doc_id``, ``title``, ``text`` and any metadata.

    Raises
    ------
    InputError
        If the file is missing or has a defect; names file and line.
    """
    return _read_documents(_one_of(Path(folder), "corpus"), "_id")


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


def load_trec(documents, queries, qrels, *, key, split="all", id_field="id", card=None):
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

    Returns
    -------
    RetrievalDataset
        With the judged queries, in the order of their file.

    Raises
    ------
    InputError
        If a file is missing or has a defect; names file and line.
    """
    return _assemble(
        key,
        split,
        _read_documents(documents, id_field),
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
    return load_beir(files["corpus.jsonl"].parent, split, key=card.key, card=card)


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


def _assemble(key, split, documents, queries, path, qrels, card):
    """Join the three parts; judgements about nothing are refused at their line."""
    _refuse_unknown(path, set(qrels), queries["query_id"], "query")
    judged = {name for row in qrels.values() for name in row}
    _refuse_unknown(path, judged, documents["doc_id"], "document")
    asked = queries[queries["query_id"].isin(set(qrels))].reset_index(drop=True)
    ordered = {query: dict(qrels[query]) for query in asked["query_id"]}
    groups = None
    if "group" in asked:
        groups = dict(zip(asked["query_id"], asked["group"], strict=True))
    return RetrievalDataset(key, split, documents, asked, ordered, card, groups=groups)


def _refuse_unknown(path, judged, known, kind):
    """Raise InputError at the first line that judges something unknown."""
    unknown = judged - set(known)
    if not unknown:
        return
    for number, line in read_lines(path):
        named = unknown.intersection(line.split("\t")) or unknown & {*line.split()}
        if named:
            raise InputError.at(
                path,
                number,
                f"judges the {kind} {min(named)!r}, which does not exist "
                f"({len(unknown)} such id(s) in all): correct or remove these lines",
            )
